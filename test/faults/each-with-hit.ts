import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Counts, Trial, Trials } from './part.js';

/**
 * A trial without the fault shows nothing: it is made again where the fault can miss, and fails where it cannot.
 *
 * @param draws How often a trial is made until its fault takes effect.
 */
export function eachWithHit(
  trials: Trials,
  draws: number,
  attempt: (trial: Trial) => Promise<Counts>,
): Promise<void> {
  return trials.each(async trial => {
    for (let draw = 1; draw <= draws; draw++) {
      const folder = path.join(trial.folder, String(draw));
      await mkdir(folder);
      const counts = await attempt({ ...trial, folder });
      if ((counts.hits ?? 0) > 0) return counts;
    }
    throw new Error('The fault never took effect, so the trial shows nothing');
  });
}
