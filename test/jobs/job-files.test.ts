import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  DataError,
  HttpError,
  type IncompleteError,
  JobError,
  OptionError,
} from '../../src/base/errors.js';
import { type Batch, batchesOf, type Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type JobFilesOptions, jobFiles } from '../../src/jobs/job-files.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { collect } from '../../src/sinks/collect.js';
import { AT_ONCE_MS } from '../at-once.js';
import { json, status } from '../http/scripted-server.js';
import { unchecked } from '../unchecked.js';
import { type JobServer, largeFile, servedFile, servedFiles, UUID, whole } from './job-server.js';
import { download, start, stopServersAfterTests } from './local-job-files.js';

stopServersAfterTests();

describe('the files that jobFiles downloads', () => {
  it.each([1, 2, 4, 16])(
    'are delivered completely and in time order, %i at a time',
    async concurrency => {
      const served = await start({ files: servedFiles(24).toReversed() });
      const { lines, verdicts, error } = await download(served, { concurrency });
      expect(error).toBeUndefined();
      expect(lines).toEqual(served.files.toReversed().flatMap(file => file.lines));
      expect(verdicts).toMatchObject([
        {
          uuid: UUID,
          files: { expected: 24, delivered: 24 },
          posts: { expected: 72, delivered: 72 },
          missing: [],
          suspectMinutes: [],
          exitCode: 0,
        },
      ]);
      expect([...served.fetched.values()]).toEqual(Array(24).fill(1));
    },
  );

  it('are followed by a call of `onVerdict`, and the run fails if that call rejects', async () => {
    const served = await start();
    const failure = new Error('no room in the log');
    const { error } = await download(served, { onVerdict: () => Promise.reject(failure) });
    expect(error).toBe(failure);
  });

  it('are requested without credentials, even from an origin that would receive them', async () => {
    const served = await start();
    await download(served);
    const requests = served.server.received.filter(({ url }) => url.startsWith('/snapshots'));
    expect(requests.length).toBe(12);
    for (const { headers } of requests) expect(headers.authorization).toBeUndefined();
  });

  it('are downloaded at most `concurrency` at a time', async () => {
    const served = await start({ files: servedFiles(24) });
    let under = 0;
    let most = 0;
    for (const [index, { segment }] of served.files.entries())
      served.faults.set(segment, (before, { gzip }) => async (response, request) => {
        most = Math.max(most, ++under);
        await sleep(5);
        under--;
        const isCut = before === 0 && index % 3 === 0;
        await whole(isCut ? gzip.subarray(0, gzip.length / 2) : gzip)(response, request);
      });
    await download(served, { concurrency: 3 });
    expect(most).toBe(3);
  });

  it.each<[string, (lines: readonly string[]) => Buffer]>([
    ['no info line', lines => gzipSync(`${lines.join('\n')}\n`)],
    ['blank lines and CRLF', lines => gzipSync(`\r\n${lines.join('\r\n\r\n')}\r\n\r\n`)],
    ['several gzip members', lines => Buffer.concat(lines.map(line => gzipSync(`${line}\n`)))],
  ])('are accepted with %s', async (_, repack) => {
    const files = servedFiles(2, { info: false }).map(file => ({
      ...file,
      gzip: repack(file.lines),
    }));
    const { lines, error } = await download(await start({ files }));
    expect(error).toBeUndefined();
    expect(lines).toEqual(files.flatMap(file => file.lines));
  });

  it('are accepted if they contain no posts', async () => {
    const files = servedFiles(3).map((file, index) =>
      index === 1 ? servedFile(file.segment, []) : file,
    );
    const { lines, error } = await download(await start({ files }));
    expect(error).toBeUndefined();
    expect(lines).toEqual(files.flatMap(file => file.lines));
  });

  it('are identified by their position in the list if their URLs contain no time segment', async () => {
    const files = servedFiles(3);
    const served = await start({ files });
    const other = await start({ files });
    served.server.script.push(...[served.server.otherwise], (response, request) => {
      const urlList = files.map(({ segment }) => {
        const [, y, m, d, h, minute] = /^(....)(..)(..)(..)(..)$/.exec(segment) ?? [];
        return `${other.server.url}/snapshots/${y}/${m}/${d}/${h}/${minute}_activities?Signature=canary1`;
      });
      response.end(JSON.stringify({ urlCount: 3, urlList }));
      expect(request.url).toContain('results.json');
    });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
  });
});

describe('the file URLs of a job without time segments', () => {
  /**
   * Serves files whose addresses do not tell which ten minutes they cover. `order` determines the
   * order of each list of files.
   */
  async function startNameless(order: (urls: string[], list: number) => string[]) {
    const served = await start({ files: servedFiles(6) });
    const { otherwise } = served.server;
    let lists = 0;
    served.server.otherwise = async (response, request) => {
      const { pathname, searchParams } = new URL(request.url, served.server.url);
      const list = Number(/\d+/.exec(searchParams.get('Signature') ?? ''));
      if (pathname.endsWith('results.json')) {
        served.listings++;
        lists++;
        const urls = served.files.map(
          ({ segment }) =>
            `${served.server.url}/snapshots/${segment.slice(0, 8)}_${segment.slice(8)}.gz?Signature=canary${lists}`,
        );
        const urlList = order(urls, lists);
        return json({ urlCount: urlList.length, urlList })(response, request);
      }
      const [, day, minute] = /(\d{8})_(\d{4})\.gz$/.exec(pathname) ?? [];
      if (day === undefined) return otherwise(response, request);
      const file = served.files.find(({ segment }) => segment === `${day}${minute}`)!;
      const before = served.fetched.get(file.segment) ?? 0;
      served.fetched.set(file.segment, before + 1);
      if (list <= served.expired) return status(403)(response, request);
      return whole(file.gzip)(response, request);
    };
    return served;
  }

  it.each([
    ['even with the same URL', (url: string) => url],
    [
      'even with another signature',
      (url: string) => `${url.replace('Signature', 'Expires=2&AccessKeyId=canary&Signature')}x`,
    ],
  ])('fail the run if one is listed twice, %s', async (_, again) => {
    const served = await startNameless(urls => [...urls, again(urls[2]!)]);
    const { lines, error } = await download(served);
    expect(error).toBeInstanceOf(DataError);
    expect((error as DataError).message).toContain('is listed twice');
    expect(lines).toEqual([]);
  });

  it('are matched to the same files if the renewed list has another order', async () => {
    const served = await startNameless((urls, list) => (list === 1 ? urls : urls.toReversed()));
    served.expired = 1;
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(served.listings).toBeGreaterThan(1);
    expect(lines).toEqual(served.lines);
  });

  it('identify the same files in each run, whatever their order in the list', async () => {
    const served = await startNameless((urls, list) => (list === 1 ? urls : urls.toReversed()));
    const first = await download(served);
    const second = await download(served);
    expect(first.lines).toEqual(served.lines);
    expect(second.lines).toEqual(first.lines);
  });
});

describe('the suspect minutes of a job', () => {
  const withSuspectMinutes = async () => {
    const files = servedFiles(3);
    const info = `{"info":{"message":"Replay Request Completed with Errors","sent":"2024-05-15T12:34:56+00:00","activity_count":3,"minutes_failed":["2024-01-01T08:03:00+00:00"]}}`;
    files[1] = { ...files[1]!, gzip: gzipSync(`${files[1]!.lines.join('\n')}\n${info}\n`) };
    return start({ files, suspectMinutes: ['202401010005', '202401010004'] });
  };

  it('set the exit code in the verdict on the job to 2', async () => {
    const { verdicts } = await download(await withSuspectMinutes());
    expect(verdicts).toMatchObject([
      { exitCode: 2, suspectMinutes: ['202401010004', '202401010005', '202401010803'] },
    ]);
  });

  it('do not fail the run', async () => {
    const served = await withSuspectMinutes();
    const { error, lines } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
  });
});

describe('a resumed run of jobFiles', () => {
  async function batchesIn(served: JobServer, resume?: Cursor): Promise<Batch<Uint8Array>[]> {
    const batches: Batch<Uint8Array>[] = [];
    const flow = jobFiles(served.account(), UUID);
    for await (const batch of batchesOf(flow, { resume })) batches.push(batch);
    return batches;
  }

  it('fetches only the files after the cursor', async () => {
    const served = await start();
    const batches = await batchesIn(served);
    expect(batches.length).toBe(12);
    for (const [index, { cursor }] of batches.entries()) {
      served.fetched.clear();
      const kept = JSON.parse(JSON.stringify(cursor)) as Cursor;
      const { lines, verdicts, error } = await download(served, { resume: kept });
      expect(error).toBeUndefined();
      expect(lines).toEqual(served.files.slice(index + 1).flatMap(file => file.lines));
      expect(served.fetched.size).toBe(11 - index);
      expect(verdicts).toMatchObject([{ exitCode: 0, posts: { delivered: 36 } }]);
    }
  });

  it('fetches only the files that were missing before', async () => {
    const served = await start();
    const [first, second] = [served.files[1]!, served.files[11]!];
    for (const { segment } of [first, second]) served.faults.set(segment, () => status(404));
    const broken = await download(served);
    const { cursor } = broken.error as IncompleteError;
    served.faults.clear();
    served.fetched.clear();
    const mended = await download(served, { resume: JSON.parse(JSON.stringify(cursor)) });
    expect(mended.error).toBeUndefined();
    expect(mended.lines).toEqual([...first.lines, ...second.lines]);
    expect([...served.fetched.keys()].toSorted()).toEqual([first.segment, second.segment]);
    expect(mended.verdicts).toMatchObject([{ exitCode: 0, files: { delivered: 12 } }]);
  });

  it('starts with the file whose line nested too deeply in the earlier run', async () => {
    const served = await start();
    const { segment } = served.files[3]!;
    served.faults.set(segment, (_, { gzip }) =>
      whole(
        gzipSync(
          gunzipSync(gzip)
            .toString()
            .replace('{"', `{"x":${'['.repeat(5_000)}${']'.repeat(5_000)},"`),
        ),
      ),
    );
    const { error } = await download(served);
    expect(error).toBeInstanceOf(DataError);
    served.faults.clear();
    const { cursor } = error as DataError;
    const mended = await download(served, { resume: JSON.parse(JSON.stringify(cursor)) });
    expect(mended.error).toBeUndefined();
    expect(mended.lines).toEqual(served.files.slice(3).flatMap(file => file.lines));
  });

  it.each<[string, object]>([
    ['of another job', { job: 'another1' }],
    ['with an invalid list of files', { seen: 'x' }],
    ['with an invalid number of posts', { posts: 'x' }],
  ])('rejects the cursor %s', async (_, difference) => {
    const served = await start();
    const cursor = (await batchesIn(served)).at(5)!.cursor!;
    const { error } = await download(served, { resume: { ...cursor, ...difference } });
    expect(error).toBeInstanceOf(OptionError);
  });

  it('rejects the cursor of another source', async () => {
    const { error } = await download(await start(), { resume: { source: 'search' } });
    expect(error).toBeInstanceOf(OptionError);
  });
});

describe('jobFiles', () => {
  it('rejects with the reason of an abort, and closes all connections', async () => {
    const served = await start({ files: servedFiles(24) });
    const abort = new AbortController();
    const reason = new Error('enough');
    // Aborts when this file is requested, so that at least one of the four connections is in use.
    // Connections that are idle at an abort stay open.
    served.faults.set(served.files[7]!.segment, () => () => abort.abort(reason));
    const source = jobFiles(served.account(), UUID, { concurrency: 4 });
    await expect(pipeline(source, gunzip(), collect(), { signal: abort.signal })).rejects.toBe(
      reason,
    );
    expect(await served.server.closed(3)).toBeLessThan(AT_ONCE_MS);
  });

  it.skipIf(process.platform !== 'linux')(
    'closes its temporary files when a run ends early',
    async () => {
      const before = await spooled();
      const gzip = largeFile(5 * 1024 * 1024);
      const files = servedFiles(6).map((file, at) => (at === 1 ? { ...file, gzip } : file));
      const served = await start({ files });
      const abort = new AbortController();
      const reason = new Error('enough');
      let open: readonly string[] = [];
      // The first file never arrives. The third file is requested when the second is on disk.
      served.faults.set(files[0]!.segment, () => () => {});
      served.faults.set(files[2]!.segment, () => async () => {
        open = await spooled();
        abort.abort(reason);
      });
      const source = jobFiles(served.account(), UUID, { concurrency: 2 });
      await expect(pipeline(source, gunzip(), collect(), { signal: abort.signal })).rejects.toBe(
        reason,
      );
      expect(open.length).toBe(before.length + 1);
      expect(await spooled()).toEqual(before);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'closes the temporary file of a large file that is damaged',
    async () => {
      const before = await spooled();
      const gzip = largeFile(5 * 1024 * 1024, ['{"id":1']);
      const files = servedFiles(3).map((file, at) => (at === 1 ? { ...file, gzip } : file));
      const served = await start({ files });
      const { error } = await download(served);
      expect(error).toMatchObject({ missing: [files[1]!.segment] });
      expect(await spooled()).toEqual(before);
    },
  );

  it('throws an error for missing files with the error of the last one as its cause', async () => {
    const served = await start();
    for (const { segment } of served.files.slice(2, 4))
      served.faults.set(segment, () => status(404));
    const { error } = await download(served);
    const missing = served.files.slice(2, 4).map(({ segment }) => segment);
    expect(error).toMatchObject({ missing, cause: { code: 'ERR_HTTP', status: 404 } });
  });

  it('cancels its requests if the reader stops early', async () => {
    const served = await start({ files: servedFiles(24) });
    for (const { segment } of served.files.slice(3)) served.faults.set(segment, () => () => {});
    for await (const _ of jobFiles(served.account(), UUID, { concurrency: 4 })) break;
    expect(await served.server.closed(4)).toBeLessThan(AT_ONCE_MS);
  });
});

describe('jobFiles, before it requests any file,', () => {
  it.each<[string, string, JobFilesOptions]>([
    ['job', '../x', {}],
    ['concurrency', UUID, { concurrency: 0 }],
    ['totals', UUID, { totals: unchecked('ignore') }],
  ])('throws an OptionError for a wrong `%s`', async (option, job, options) => {
    const served = await start();
    expect(() => jobFiles(served.account(), job, options)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    );
    expect(served.server.received).toEqual([]);
  });

  it('fails with the status of a job that is not delivered yet', async () => {
    const served = await start({ job: { status: 'running', results: undefined } });
    expect((await download(served)).error).toMatchObject({
      code: 'ERR_JOB',
      status: 'running',
      message: expect.stringMatching(
        /: only a delivered job has, and `jobs\.run` waits for that\. It is running/,
      ),
    });
  });

  it('fails with the id of an unknown job', async () => {
    const served = await start();
    const { error } = await download({
      ...served,
      account: () => served.account({ account: 'x' }),
    });
    expect(error).toBeInstanceOf(JobError);
    expect(String(error)).toMatch(/unknown, or has expired/);
    expect((error as JobError).cause).toBeInstanceOf(HttpError);
  });
});

/** Returns the temporary files of large job files that this process has open. */
async function spooled(): Promise<string[]> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return targets.filter(target => target.includes('millrace-spool-')).toSorted();
}
