import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.js';
import { Random } from '../random.js';
import { type BundledChild, bundleChild } from './bundle-child.js';
import type { RowName } from './pipelines.js';
import { RowRun } from './row-run.js';
import { ROWS } from './rows.js';
import { cleanChild, tryKills } from './try-kills.js';

/**
 * The pipelines that are killed, one for each kind of source and sink. `disks.test.ts` ends runs at
 * calls of a simulated disk. These tests check that a real process behaves like the simulation.
 * `npm run faults -- matrix` kills all pipelines with many seeds.
 */
const KILLED: readonly RowName[] = [
  'search',
  'parquet',
  'job files, threads',
  'jobs.download',
  'stored files, csv by threads',
  'stored files, rules by threads',
  'tee, database',
  'on file',
  'damaged',
];
/**
 * Returns numbers from the third quarter of a range. A run that is killed at such a disk call has
 * committed some items but not all.
 */
class LateRandom extends Random {
  override whole(min: number, max: number): number {
    const quarter = Math.floor((max - min) / 4);
    return super.whole(min + 2 * quarter, max - quarter);
  }
}

const library = pathToFileURL(`${path.join(inject('compiledSources'), 'src')}/`);
const world = { plain: true };
let child: BundledChild;
let cache: string;

beforeAll(async () => {
  child = await bundleChild(library);
  cache = await temporaryFolder();
});

afterAll(() => child?.remove());

describe('a run whose process is killed at a disk call', () => {
  it.each(ROWS.filter(({ name }) => KILLED.includes(name)))(
    'loses and repeats no post when it is run again: $name',
    async row => {
      const place = { cache, library };
      const run = await RowRun.open(row, { ...place, folder: await temporaryFolder() }, world);
      const clean = await cleanChild(run, child).finally(() => run.close());
      const { kills, committed } = await tryKills(
        { ...place, row, kill: 'disk call', kills: 1, world },
        clean,
        {
          seed: 1,
          random: new LateRandom(row.name),
          folder: await temporaryFolder(),
          signal: new AbortController().signal,
          keep() {},
        },
      );
      expect(kills).toBe(1);
      expect(committed).toBeGreaterThan(0);
    },
  );
});
