import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JobServer, jobServer, servedFiles, UUID, whole } from '../jobs/job-server.js';
import { LOGIN } from '../login.js';
import { bySuite, isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { killUntilDone, runScript } from './kill-until-done.js';

const KILLS = bySuite(1, 60);
const SCRIPT = path.join(import.meta.dirname, 'job-to-files.ts');
const FILES = 48;
let served: JobServer;
let options: string;

beforeAll(async () => {
  served = await jobServer({ files: servedFiles(FILES, { posts: 20 }) });
  // Slow enough that a kill happens in the middle.
  for (const { segment } of served.files)
    served.faults.set(segment, (_, { gzip }) => async (response, request) => {
      await sleep(8);
      await whole(gzip)(response, request);
    });
  options = JSON.stringify({
    historicalUrl: served.server.url,
    account: 'acme',
    publisher: 'twitter',
    ...LOGIN,
    limits: { jobReads: [] },
  });
});

afterAll(() => served.stop());

/** Kills runs at random moments until each is complete, and checks their output. */
async function killed(what: string, check: (out: string) => Promise<void>): Promise<void> {
  let kills = 0;
  let kept = 0;
  while (kills < KILLS) {
    const out = await temporaryFolder();
    served.fetched.clear();
    const args = [out, options, UUID, what];
    const times = { minMs: 60, maxMs: 150, growth: bySuite(2, 1.4) };
    const before = await killUntilDone({ script: SCRIPT, args }, times);
    // Each kill repeats at most the requests that were active.
    const fetches = [...served.fetched.values()].reduce((sum, count) => sum + count, 0);
    expect(fetches).toBeLessThanOrEqual(FILES + before * 24);
    kept += (before + 1) * FILES - fetches;
    kills += before;
    await check(out);
  }
  // The test is only valid if some run was killed after it had received something.
  expect(kept).toBeGreaterThan(0);
}

describe('a process that is killed while it downloads a job', () => {
  const ways = [
    ['by threads', 'threads'],
    ['on the main thread', 'files'],
  ] as const;
  it.each(isNightly ? ways : ways.slice(0, 1))(
    'delivers every post exactly once, written %s',
    async (_, what) => {
      // The script fails if the threads that it asks for are not started.
      if (what === 'threads')
        await runScript({ script: SCRIPT, args: [await temporaryFolder(), options, UUID, what] });
      await killed(what, async out => {
        const names = (await readdir(out)).filter(name => name !== 'checkpoint.json');
        expect(names.filter(name => !name.endsWith('.jsonl'))).toEqual([]);
        const texts = await Promise.all(names.map(name => readFile(path.join(out, name), 'utf8')));
        const lines = texts.flatMap(text => text.trimEnd().split('\n'));
        expect(lines.toSorted()).toEqual(served.lines.toSorted());
      });
    },
  );

  it('writes every file completely', () =>
    killed('folder', async out => {
      const day = path.join(out, '20240101');
      const names = (await readdir(day)).toSorted();
      expect(names).toEqual(served.files.map(({ segment }) => `${segment.slice(8)}.json.gz`));
      for (const [index, name] of names.entries()) {
        const bytes = await readFile(path.join(day, name));
        expect(gunzipSync(bytes)).toEqual(gunzipSync(served.files[index]!.gzip));
      }
    }));
});
