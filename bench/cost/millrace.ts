import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Activity,
  activities,
  dedupe,
  gunzip,
  jsonLines,
  localFiles,
  pipeline,
  type Routed,
  routeByTag,
  type Sink,
} from 'millrace';
import type { Work } from '../question.js';

const BUFFER = 1024 * 1024;

export async function run({ files, out, compared }: Work): Promise<void> {
  const posts = await pipeline(
    localFiles(files),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe({ window: 10_000 }),
    routeByTag(),
    nowhere,
  );
  if (compared) await writeFile(path.join(out, 'passed.json'), JSON.stringify({ posts }));
}

/** Only sinks of the package release the memory of a batch, by a method that is not public; this one does in their place. */
interface ReleasableFlow<T> {
  releasable(
    pull?: object,
  ): AsyncIterable<{ readonly items: readonly T[]; readonly release?: () => void }>;
}

/** Gathers lines as `files` does, then discards them: few machines have memory for 8 GB. Counts posts. */
const nowhere: Sink<Routed, number> = async (input, run) => {
  const lines = Buffer.allocUnsafe(BUFFER);
  let used = 0;
  let posts = 0;
  let last: Activity | undefined;
  for await (const { items, release } of (input as unknown as ReleasableFlow<Routed>).releasable(
    run,
  )) {
    for (const { activity } of items) {
      if (used + activity.raw.length > BUFFER) used = 0;
      lines.set(activity.raw, used);
      used += activity.raw.length;
      // One that has several tags comes several times.
      if (activity !== last) posts++;
      last = activity;
    }
    // The next batch may reuse the memory.
    last = undefined;
    release?.();
  }
  return posts;
};
