import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import {
  environmentShard,
  hasFile,
  parseShard,
  partOf,
  partOfRate,
  type Shard,
  shardName,
} from '../../src/base/shard.js';
import { DAY, FIRST_POST, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { foldersVerdict } from '../../src/jobs/download-folder.js';
import { downloadJob } from '../../src/jobs/download-job.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { runJob } from '../../src/jobs/run-job.js';
import { replay } from '../../src/replay/replay.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { texts, until } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const shardsOf = (of: number): Shard[] =>
  Array.from({ length: of }, (_, index) => ({ index: index + 1, of }));
const of = fc.integer({ min: 1, max: 40 });

describe('the shards of a window', () => {
  const partsOf = (
    check: (
      parts: readonly { readonly from: number; readonly to: number }[],
      of: {
        readonly window: { readonly from: number; readonly to: number };
        readonly minutes: number;
        readonly n: number;
      },
    ) => void,
  ) =>
    fc.assert(
      fc.property(
        fc.nat(20_000_000),
        fc.integer({ min: 1, max: 500_000 }),
        of,
        (start, minutes, n) => {
          const from = FIRST_POST + start * MINUTE;
          const window = { from, to: from + minutes * MINUTE };
          const parts = shardsOf(n).flatMap(shard => partOf(window, shard) ?? []);
          check(parts, { window, minutes, n });
        },
      ),
    );

  it('cover the whole window without gaps or overlap', () => {
    partsOf((parts, { window }) => {
      expect(parts[0]?.from).toBe(window.from);
      expect(parts.at(-1)?.to).toBe(window.to);
      for (const [index, part] of parts.entries()) {
        expect(part.from).toBeLessThan(part.to);
        if (index > 0) expect(part.from).toBe(parts[index - 1]?.to);
      }
    });
  });

  it('differ in length from the mean by at most one minute', () => {
    partsOf((parts, { minutes, n }) => {
      for (const { from, to } of parts)
        expect(Math.abs((to - from) / MINUTE - minutes / n)).toBeLessThanOrEqual(1);
    });
  });

  it('are never more numerous than the minutes of the window', () => {
    partsOf((parts, { minutes, n }) => expect(parts.length).toBe(Math.min(n, minutes)));
  });
});

describe('the shards of files', () => {
  it('contain each file exactly once, whatever folder it is in', () => {
    const name = fc
      .stringMatching(/^[a-z0-9._-]{1,12}$/)
      .filter(text => text !== '.' && text !== '..');
    const names = fc.array(name, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(names, of, (parts, n) => {
        const file = path.join('top', 'under', ...parts);
        const takers = shardsOf(n).filter(shard => hasFile(shard, file));
        expect(takers.length).toBe(1);
        expect(hasFile(takers[0]!, path.join('/elsewhere', file))).toBe(true);
        expect(hasFile(takers[0]!, `./${file}`)).toBe(true);
      }),
    );
  });

  it('divide the 144 files of a downloaded day evenly', () => {
    const counts = shardsOf(8).map(shard => {
      let count = 0;
      for (let at = Date.UTC(2024, 0, 1); at < Date.UTC(2024, 0, 2); at += 10 * MINUTE) {
        const name = formatTimestamp(at);
        if (hasFile(shard, `archive/${name.slice(0, 8)}/${name.slice(8)}.json.gz`)) count++;
      }
      return count;
    });
    expect(counts).toEqual(Array.from({ length: 8 }, () => 144 / 8));
  });

  it('deliver every file exactly once when localFiles reads them', async () => {
    const names = ['a.jsonl', 'b/c.jsonl', 'b/d.jsonl', '20240101/0000.json', '20240101/0010.json'];
    for (const name of names) {
      await mkdir(path.dirname(path.join(folder, 'stored', name)), { recursive: true });
      await writeFile(path.join(folder, 'stored', name), `${name}\n`);
    }
    const whole = await texts(localFiles(path.join(folder, 'stored')));
    for (const n of [1, 2, 3, 9]) {
      const read = await Promise.all(
        shardsOf(n).map(shard => texts(localFiles(path.join(folder, 'stored'), { shard }))),
      );
      expect(read.flat().toSorted()).toEqual(whole.toSorted());
      const listed = names.map(name => path.join(folder, 'stored', name));
      const again = await Promise.all(
        shardsOf(n).map(shard => texts(localFiles(listed, { shard }))),
      );
      expect(again.map(one => one.toSorted())).toEqual(read.map(one => one.toSorted()));
    }
  });

  it('reject the cursor and the checkpoint of another shard', async () => {
    const stored = path.join(folder, 'checked');
    await mkdir(stored);
    for (let n = 0; n < 20; n++) await writeFile(path.join(stored, `${n}.jsonl`), `${n}\n`);
    const sink = () =>
      files({ path: path.join(folder, 'out.jsonl'), checkpoint: path.join(folder, 'out.json') });
    const first = localFiles(stored, { shard: { index: 1, of: 2 } });
    const second = localFiles(stored, { shard: { index: 2, of: 2 } });
    const { posts } = await pipeline(first, sink());
    expect((await pipeline(first, sink())).posts).toBe(posts);
    await expect(pipeline(second, sink())).rejects.toThrow(/`shard` .*1\/2.*2\/2/);
    await expect(pipeline(localFiles(stored), sink())).rejects.toThrow(StorageError);
    for await (const { cursor } of first.batches())
      expect(
        (await until(new Flow(run => second.batches({ ...run, resume: cursor })))).error,
      ).toBeInstanceOf(StorageError);
  });
});

describe('a shard', () => {
  it('is read from MILLRACE_SHARD, and causes an OptionError if it is invalid', () => {
    expect(parseShard('2/8')).toEqual({ index: 2, of: 8 });
    expect(environmentShard('x', { MILLRACE_SHARD: '8/8' })).toEqual({ index: 8, of: 8 });
    expect(environmentShard('x', { MILLRACE_SHARD: '' })).toBeUndefined();
    for (const text of [
      '0/8',
      '9/8',
      '2',
      '2/',
      '/8',
      '-1/8',
      '1.5/8',
      ' 2/8',
      '2/8/9',
      '2\\8',
      '1/10001',
    ]) {
      expect(parseShard(text), text).toBeUndefined();
      expect(() => environmentShard('x', { MILLRACE_SHARD: text })).toThrow(OptionError);
      expect(() => account({}, { MILLRACE_SHARD: text })).toThrow('MILLRACE_SHARD');
    }
    for (const given of [{ index: 0, of: 1 }, { index: 2, of: 1 }, { index: 1 }, '1/2']) {
      const shard = unchecked(given);
      expect(() => localFiles('x', { shard })).toThrow(OptionError);
      expect(() => account({ shard })).toThrow(OptionError);
    }
    expect(account({}, { MILLRACE_SHARD: '2/8' }).settings.shard).toEqual({ index: 2, of: 8 });
  });

  it('uses a fraction of every rate limit, so that all shards together respect the limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1, max: 300_000 }),
        of,
        (requests, perMs, n) => {
          const part = partOfRate({ requests, perMs }, { index: 1, of: n });
          expect(part.requests).toBeGreaterThanOrEqual(1);
          expect((n * part.requests) / part.perMs).toBeLessThanOrEqual(
            (requests / perMs) * (1 + 1e-9),
          );
        },
      ),
    );
    const acme = account({ account: 'shared', shard: { index: 1, of: 4 } }, {});
    const url = new URL('https://shared.example');
    expect(acme.rateLimiter('search', url).rates).toEqual([{ requests: 5, perMs: 1000 }]);
    expect(acme.rateLimiter('replay', url).rates).toEqual([{ requests: 1, perMs: 5 * MINUTE }]);
  });
});

describe('all shards together', () => {
  let service: Service;
  let addresses: Awaited<ReturnType<Service['start']>>;
  beforeAll(async () => {
    service = createService({ limits: 'relaxed', postsPerMinute: 20, jobDwellMs: 0 });
    addresses = await service.start();
  });
  afterAll(() => service.stop());

  it('deliver the same posts in the same order as the search without shards', async () => {
    const now = service.clock.now();
    const fromDate = formatTimestamp(now - 2 * DAY);
    const toDate = formatTimestamp(now - HOUR);
    const query = { product: '30day', query: 'coffee', fromDate, toDate } as const;
    await using sparse = createService({ limits: 'relaxed', postsPerMinute: 6 });
    const addresses = await sparse.start();
    const acme = account(addresses, {});
    const whole = await pipeline(search(acme, query), collect());
    expect(whole.length).toBeGreaterThan(100);
    const parts = await Promise.all(
      shardsOf(4).map(shard => pipeline(search(acme, { ...query, shard }), collect())),
    );
    // A search delivers the newest posts first, but the first shard is the oldest.
    expect(
      parts
        .toReversed()
        .flat()
        .map(({ id }) => id),
    ).toEqual(whole.map(({ id }) => id));
    for (const part of parts) expect(part.length).toBeGreaterThan(whole.length / 8);

    const second = account(addresses, { MILLRACE_SHARD: '2/4' });
    const posts = await pipeline(search(second, { ...query, slices: 3 }), collect());
    expect(posts.map(({ id }) => id)).toEqual(parts[1]?.map(({ id }) => id));
    expect(() => search(second, { product: '30day', query: 'coffee' })).toThrow(/needs `fromDate`/);
    expect(() => search(second, { ...query, limit: 5 })).toThrow(/`shard` fetches a whole window/);
    const minute = { ...query, fromDate: formatTimestamp(now - HOUR - MINUTE) };
    const shards = await Promise.all(
      shardsOf(3).map(shard => pipeline(search(acme, { ...minute, shard }), collect())),
    );
    expect(shards.map(({ length }) => length > 0).filter(Boolean).length).toBeLessThanOrEqual(1);
  });

  it('deliver every file of a job and every line of its report exactly once', async () => {
    const acme = account({ ...addresses, limits: { jobReads: [], jobCreation: [] } }, {});
    const job = await runJob(acme, {
      title: 'shared',
      fromDate: '202401010000',
      toDate: '202401010300',
      dataFormat: 'original',
      rules: [{ value: 'coffee' }],
      decide: () => true,
      pollIntervalMs: 20,
    });
    const whole = (await pipeline(jobFiles(acme, job), collect())).map(String);
    const verdicts: JobVerdict[] = [];
    const onVerdict = (verdict: JobVerdict) => verdicts.push(verdict);
    const parts: string[] = [];
    for (const shard of shardsOf(4)) {
      const some = await pipeline(jobFiles(acme, job, { shard, onVerdict }), collect());
      const into = path.join(folder, `job-${shard.index}`);
      const verdict = await downloadJob(acme, job, { shard, folder: into });
      expect(verdict).toEqual(verdicts.at(-1));
      expect(verdict).toMatchObject({ shard, exitCode: 0, missing: [] });
      expect(verdict.summary).toContain(`shard ${shardName(shard)}: `);
      // If the files of a shard are divided into the same shards again, all of these files stay in
      // that shard.
      expect((await texts(localFiles(into, { shard }))).length).toBe(some.length);
      parts.push(...some.map(String));
    }
    expect(parts.toSorted()).toEqual(whole.toSorted());
    const folders = shardsOf(4).map(({ index }) => path.join(folder, `job-${index}`));
    const all = await downloadJob(acme, job, { folder: path.join(folder, 'job') });
    expect(await foldersVerdict(folders)).toEqual(all);
    expect(all).toMatchObject({ exitCode: 0, missing: [] });
    expect(await foldersVerdict([path.join(folder, 'job')])).toEqual(all);
    expect(await foldersVerdict([folders[3]!, folders[1]!])).toMatchObject({
      exitCode: 1,
      missing: ['shard 1/4', 'shard 3/4'],
    });
    await rm(path.join(folders[2]!, '20240101', '0020.json.gz'));
    expect(await foldersVerdict(folders)).toMatchObject({
      exitCode: 1,
      missing: ['202401010020'],
    });
    const [first, ...others] = folders as [string, ...string[]];
    await expect(foldersVerdict([first, ...others, first])).rejects.toThrow(
      /shard 1\/4, as the folder .* does\. Pass exactly one folder for each shard of the same job$/,
    );
    await expect(foldersVerdict([...others, path.join(folder, 'job')])).rejects.toThrow(
      StorageError,
    );
    await expect(foldersVerdict([folder])).rejects.toThrow(/No download into the folder/);
    await expect(foldersVerdict([])).rejects.toThrow(OptionError);
    await writeFile(path.join(first, '.millrace-download.json'), '{"shard":{"index":1,"of":4}}');
    await expect(foldersVerdict(folders)).rejects.toThrow(/is damaged/);
    expect(verdicts.reduce((sum, { posts }) => sum + posts.delivered, 0)).toBe(
      job.results.activityCount,
    );
  });

  it('deliver the same posts as the replay without shards', async () => {
    const to = Math.floor(service.clock.now() / MINUTE) * MINUTE - 2 * HOUR;
    const acme = account({ ...addresses, limits: { replay: [] } }, {});
    const window = {
      streamType: 'firehose',
      fromDate: new Date(to - 20 * MINUTE),
      toDate: new Date(to),
      folder: path.join(folder, 'replay'),
    } as const;
    const whole = await pipeline(replay(acme, window), collect());
    const parts = await Promise.all(
      shardsOf(3).map(shard => pipeline(replay(acme, { ...window, shard }), collect())),
    );
    expect(parts.flat().map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    const [first, second] = shardsOf(2).map(shard => replay(acme, { ...window, shard }));
    let cursor: object | undefined;
    for await (const batch of first!.batches()) cursor = batch.cursor ?? cursor;
    const { error } = await until(
      new Flow(run => second!.batches({ ...run, resume: unchecked(cursor) })),
    );
    expect(error).toBeInstanceOf(OptionError);
    const many = shardsOf(30).map(shard => pipeline(replay(acme, { ...window, shard }), collect()));
    expect((await Promise.all(many)).flat().length).toBe(whole.length);
  });
});
