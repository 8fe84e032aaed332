import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, IncompleteError, JobError, OptionError } from '../../src/errors.js';
import { type Batch, batchesOf, type Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type JobFilesOptions, jobFiles } from '../../src/jobs/job-files.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { collect } from '../../src/sinks/collect.js';
import { AT_ONCE_MS } from '../at-once.js';
import { json, type Reply, reset, status } from '../http/scripted-server.js';
import { unchecked } from '../unchecked.js';
import {
  type JobServer,
  type JobServerOptions,
  jobServer,
  largeFile,
  PASSWORD,
  servedFile,
  servedFiles,
  UUID,
  whole,
} from './job-server.js';

const running: JobServer[] = [];

async function start(options?: JobServerOptions): Promise<JobServer> {
  const served = await jobServer(options);
  running.push(served);
  return served;
}

afterEach(async () => {
  for (const served of running.splice(0)) await served.stop();
});

interface Outcome {
  readonly lines: readonly string[];
  readonly verdicts: readonly JobVerdict[];
  readonly error: unknown;
}

/** All delivered lines, also of a run that fails. */
async function download(served: JobServer, options: JobFilesOptions = {}): Promise<Outcome> {
  const lines: string[] = [];
  const verdicts: JobVerdict[] = [];
  const flow = activities()(
    jsonLines()(
      gunzip()(
        jobFiles(served.account(), UUID, { onVerdict: told => verdicts.push(told), ...options }),
      ),
    ),
  );
  try {
    for await (const activity of flow) lines.push(activity.raw.toString());
    return { lines, verdicts, error: undefined };
  } catch (error) {
    return { lines, verdicts, error };
  }
}

/** The first `times` requests for every second file get the reply of the fault. */
function plant(served: JobServer, times: number, fault: (file: Buffer) => Reply): string[] {
  const hit = served.files.filter((_, index) => index % 2 === 1);
  for (const { segment } of hit)
    served.faults.set(segment, (before, file) => (before < times ? fault(file.gzip) : undefined));
  return hit.map(file => file.segment);
}

/** Too large for memory, with the damage far before its end. */
const LARGE_AND_DAMAGED = largeFile(6_000_000, ['{"id":1']);
const LINE_WITHOUT_END = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));

const FAULTS: Record<string, (file: Buffer) => Reply> = {
  'cut short, in good order': file => whole(file.subarray(0, file.length / 2)),
  'cut short against its length': file => response => {
    response.setHeader('content-length', file.length);
    response.write(file.subarray(0, file.length / 2), () => response.socket?.end());
  },
  'reset in the middle': file => response => {
    response.setHeader('content-length', file.length);
    response.write(file.subarray(0, file.length / 2), () => response.socket?.resetAndDestroy());
  },
  'reset at once': () => reset,
  'without its last byte': file => whole(file.subarray(0, -1)),
  'with a flipped bit': file => {
    const flipped = Buffer.from(file);
    flipped[flipped.length >> 1] = flipped[flipped.length >> 1]! ^ 4;
    return whole(flipped);
  },
  'followed by junk': file => whole(Buffer.concat([file, Buffer.from('junk')])),
  empty: () => whole(Buffer.alloc(0)),
  'not gzip': () => whole(Buffer.from('{"a":1}\n')),
  'whole, but of fewer posts than it says': () =>
    whole(gzipSync('{"id":1}\n{"info":{"message":"Replay Request Completed","activity_count":3}}')),
  'whole, but with a line cut short': () => whole(gzipSync('{"id":1}\n{"id":2')),
  'some MB, with a damaged first line': () => whole(LARGE_AND_DAMAGED),
  'missing (404)': () => status(404, 'NoSuchKey'),
  'forbidden (403)': () => status(403),
  'not now (503)': () => status(503, '', { 'retry-after': '1' }),
};

describe('jobFiles: the files of a job', () => {
  it.each([1, 2, 4, 16])(
    'are delivered completely, in time order, %i at a time',
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

  it('end with the error that the promise of `onVerdict` rejects with', async () => {
    const served = await start();
    const failure = new Error('no room in the log');
    const { error } = await download(served, { onVerdict: () => Promise.reject(failure) });
    expect(error).toBe(failure);
  });

  it('are requested without credentials, even from an origin that accepts them', async () => {
    const served = await start();
    await download(served);
    const requests = served.server.received.filter(({ url }) => url.startsWith('/snapshots'));
    expect(requests.length).toBe(12);
    for (const { headers } of requests) expect(headers.authorization).toBeUndefined();
  });

  it('are never downloaded more at a time than requested', async () => {
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

  it('may have no info line, blank lines, CRLF, several gzip members, or no posts at all', async () => {
    const made = servedFiles(4, { info: false });
    const repacked = [
      (text: readonly string[]) => gzipSync(`${text.join('\n')}\n`),
      (text: readonly string[]) => gzipSync(`\r\n${text.join('\r\n\r\n')}\r\n\r\n`),
      (text: readonly string[]) => Buffer.concat(text.map(line => gzipSync(`${line}\n`))),
    ];
    const files = made.map((file, index) => {
      const repack = repacked[index];
      return repack === undefined
        ? servedFile(file.segment, [])
        : { ...file, gzip: repack(file.lines) };
    });
    const { lines, error } = await download(await start({ files }));
    expect(error).toBeUndefined();
    expect(lines).toEqual(files.flatMap(file => file.lines));
  });

  it('pass through temporary files if they are large, which are removed', async () => {
    const noise = Array.from(
      { length: 60 },
      (_, i) => `{"id":${i},"text":"${randomBytes(100_000).toString('hex')}"}`,
    );
    const files = servedFiles(6).map((file, i) =>
      i === 2 ? servedFile(file.segment, noise) : file,
    );
    expect(files[2]!.gzip.length).toBeGreaterThan(4 * 1024 * 1024);
    const served = await start({ files });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines.length).toBe(75);
    expect(lines).toEqual(served.lines);
  });

  it('are named by their position in the list if their addresses do not contain the segment', async () => {
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

describe('addresses without segments', () => {
  /** Lists the files under addresses that do not name their segments, in the order that `order` gives each list. */
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
    ['as they are', (url: string) => url],
    [
      'signed again',
      (url: string) => `${url.replace('Signature', 'Expires=2&AccessKeyId=canary&Signature')}x`,
    ],
  ])(
    'that are listed twice, %s, are an error, and no file is delivered twice',
    async (_, again) => {
      const served = await startNameless(urls => [...urls, again(urls[2]!)]);
      const { lines, error } = await download(served);
      expect(error).toBeInstanceOf(DataError);
      expect((error as DataError).message).toContain('is listed twice');
      expect(lines).toEqual([]);
    },
  );

  it('are of the same files when the list is renewed in another order', async () => {
    const served = await startNameless((urls, list) => (list === 1 ? urls : urls.toReversed()));
    served.expired = 1;
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(served.listings).toBeGreaterThan(1);
    expect(lines).toEqual(served.lines);
  });

  it('name the same files in each run, in whatever order they are listed', async () => {
    const served = await startNameless((urls, list) => (list === 1 ? urls : urls.toReversed()));
    const first = await download(served);
    const second = await download(served);
    expect(first.lines).toEqual(served.lines);
    expect(second.lines).toEqual(first.lines);
  });
});

describe('a temporary fault', () => {
  it.each(Object.entries(FAULTS))(
    '(%s) is overcome by fetching the file again',
    async (_, fault) => {
      const served = await start();
      const hit = plant(served, 2, fault);
      const { lines, verdicts, error } = await download(served);
      expect(error).toBeUndefined();
      expect(lines).toEqual(served.lines);
      expect(verdicts[0]?.exitCode).toBe(0);
      for (const segment of hit) expect(served.fetched.get(segment)).toBe(3);
    },
  );

  it('that stalls a file is overcome by fetching it again', async () => {
    const served = await start();
    served.faults.set(served.files[3]!.segment, (before, { gzip }) =>
      before > 0
        ? undefined
        : response => {
            response.setHeader('content-length', gzip.length);
            response.write(gzip.subarray(0, 20));
          },
    );
    const { lines, error } = await download({
      ...served,
      account: () => served.account({ timeouts: { silenceMs: 300 } }),
    });
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
  });

  it('is not assumed of a slow file, which may arrive byte by byte', async () => {
    const served = await start({ files: servedFiles(3) });
    served.faults.set(served.files[1]!.segment, (_, { gzip }) => async response => {
      response.setHeader('content-length', gzip.length);
      for (const byte of gzip.subarray(0, 60)) {
        response.write(Buffer.from([byte]));
        await sleep(1);
      }
      response.end(gzip.subarray(60));
    });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
  });

  it('of expired addresses is overcome by requesting the list once for all files', async () => {
    const served = await start({ files: servedFiles(24) });
    served.faults.set(served.files[10]!.segment, () => {
      served.expired = Math.max(served.expired, 1);
      return undefined;
    });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
    expect(served.listings).toBe(2);
  });

  it('of a list with fewer addresses than it announces is overcome by requesting it again', async () => {
    const served = await start();
    const { otherwise } = served.server;
    served.server.script.push(otherwise, response => {
      response.end(JSON.stringify({ urlCount: 12, urlList: [] }));
    });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
  });
});

describe('a permanent fault', () => {
  it.each(Object.entries(FAULTS))(
    '(%s): the other files are delivered, and the error names the file',
    async (_, fault) => {
      const served = await start();
      const hit = plant(served, Number.POSITIVE_INFINITY, fault);
      const { lines, verdicts, error } = await download(served);
      expect(error).toBeInstanceOf(IncompleteError);
      expect((error as IncompleteError).missing).toEqual(hit);
      expect((error as Error).message).toContain(hit[0]);
      const rest = served.files.filter(file => !hit.includes(file.segment));
      expect(lines).toEqual(rest.flatMap(file => file.lines));
      expect(verdicts).toMatchObject([{ exitCode: 1, missing: hit, files: { delivered: 6 } }]);
      for (const text of secretsOf(error)) expect(text).not.toMatch(/canary/);
    },
  );

  it.each([
    [
      'a damaged line in some MB',
      LARGE_AND_DAMAGED,
      /Expected a JSON object on each line: .*, line 1/,
    ],
    ['a line that has no end', LINE_WITHOUT_END, /A line is larger than 67108864 bytes/],
  ])('(%s) is described in the error', async (_, file, message) => {
    const served = await start({ files: servedFiles(3) });
    served.faults.set(served.files[1]!.segment, () => whole(file));
    const { error } = await download(served);
    expect((error as IncompleteError).cause).toBeInstanceOf(DataError);
    expect((error as Error).message).toMatch(message);
  });

  it('is retried once at the end, after all other files', async () => {
    const served = await start();
    const late = served.files[2]!;
    served.faults.set(late.segment, before => (before < 6 ? status(404) : undefined));
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    const others = served.files.filter(file => file !== late);
    expect(lines).toEqual([...others, late].flatMap(file => file.lines));
  });

  it('of two files is named by the later one, whichever was tried longer', async () => {
    const served = await start();
    const [earlier, later] = [served.files[2]!.segment, served.files[4]!.segment];
    served.faults.set(earlier, () => async (response, request) => {
      await sleep(20);
      await status(404, 'the earlier')(response, request);
    });
    served.faults.set(later, () => status(404, 'the later'));
    const { error } = await download(served, { concurrency: 4 });
    expect((error as Error).message).toMatch(/The last error: .*the later/);
  });

  it('of all files ends the run early', async () => {
    const served = await start({ files: servedFiles(72) });
    for (const { segment } of served.files) served.faults.set(segment, () => status(404));
    const { lines, error } = await download(served);
    expect(lines).toEqual([]);
    expect((error as IncompleteError).missing.length).toBe(72);
    expect(served.fetched.size).toBeLessThan(30);
  });

  it('of the connection ends the run with the names of the remaining files', async () => {
    const served = await start();
    served.faults.set(served.files[6]!.segment, () => response => {
      response.socket?.resetAndDestroy();
      served.server.stop();
    });
    const { error, lines } = await download(served, { concurrency: 1 });
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as IncompleteError).cause).toMatchObject({ code: 'ERR_CONNECTION' });
    expect((error as IncompleteError).missing).toEqual(
      served.files.slice(lines.length / 3).map(file => file.segment),
    );
    running.splice(0);
  });

  it('by expiry of the job during the run is named in the error', async () => {
    const served = await start();
    const { otherwise } = served.server;
    served.faults.set(served.files[6]!.segment, () => status(403));
    served.server.otherwise = (response, request) =>
      request.url.includes('results.json') && served.listings > 0
        ? status(404)(response, request)
        : otherwise(response, request);
    const { error } = await download(served);
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as IncompleteError).cause).toBeInstanceOf(JobError);
    expect((error as Error).message).toMatch(/expired \(its files were kept until 2024-05-30/);
  });

  it('of a list with fewer files than announced is an error with both numbers, after the listed files', async () => {
    const served = await start({ listing: { urlCount: 13 } });
    const { lines, error } = await download(served);
    expect(lines).toEqual(served.lines);
    expect((error as IncompleteError).missing).toEqual(['12 of 13 files are listed (urlCount)']);
  });

  it.each([
    ['bytes', { listing: { totalFileSizeBytes: 7 } }, /\d+ of 7 bytes \(totalFileSizeBytes\)/],
    ['posts', { results: { activityCount: '37' } }, /36 of 37 posts \(activityCount\)/],
  ])('of different totals of %s is an error, or is only reported', async (_, options, expected) => {
    const served = await start(options);
    const required = await download(served);
    expect(required.lines).toEqual(served.lines);
    expect(required.error).toBeInstanceOf(IncompleteError);
    expect((required.error as IncompleteError).missing).toMatchObject([
      expect.stringMatching(expected),
    ]);
    const reported = await download(served, { totals: 'report' });
    expect(reported.error).toBeUndefined();
    expect(reported.verdicts).toMatchObject([
      { exitCode: 1, missing: [expect.stringMatching(expected)] },
    ]);
  });

  it.each([
    ['a segment twice', (urls: string[]) => [urls[0]!, urls[0]!], /listed twice/],
    [
      'plain http to another host',
      () => ['http://files.example/2024/a.gz?Signature=canary'],
      /https/,
    ],
    ['another protocol', () => ['file:///etc/passwd'], /https/],
    ['no address', () => ['../../etc/passwd'], /got "..\/..\/etc\/passwd"/],
    ['credentials in an address', () => ['https://a:canary@files.example/x'], /https/],
  ])('of a list with %s is an error', async (_, list, expected) => {
    const served = await start();
    const { otherwise } = served.server;
    served.server.script.push(otherwise, response => {
      const url = `${served.server.url}/2024/01/01/00/00_activities.json.gz`;
      const urlList = list([url]);
      response.end(JSON.stringify({ urlCount: urlList.length, urlList }));
    });
    const { error } = await download(served);
    expect(error).toBeInstanceOf(DataError);
    expect(String(error)).toMatch(expected);
    for (const text of secretsOf(error)) expect(text).not.toMatch(/canary/);
  });
});

describe('suspect minutes', () => {
  it('are in the verdict, from the list and from the files, and set exit code 2', async () => {
    const files = servedFiles(3);
    const info = `{"info":{"message":"Replay Request Completed with Errors","sent":"2024-05-15T12:34:56+00:00","activity_count":3,"minutes_failed":["2024-01-01T08:03:00+00:00"]}}`;
    files[1] = { ...files[1]!, gzip: gzipSync(`${files[1]!.lines.join('\n')}\n${info}\n`) };
    const served = await start({ files, suspectMinutes: ['202401010005', '202401010004'] });
    const { verdicts, error, lines } = await download(served);
    expect(error).toBeUndefined();
    expect(lines).toEqual(served.lines);
    expect(verdicts).toMatchObject([
      { exitCode: 2, suspectMinutes: ['202401010004', '202401010005', '202401010803'] },
    ]);
  });
});

describe('resuming', () => {
  async function batchesIn(served: JobServer, resume?: Cursor): Promise<Batch<Uint8Array>[]> {
    const batches: Batch<Uint8Array>[] = [];
    const flow = jobFiles(served.account(), UUID);
    for await (const batch of batchesOf(flow, { resume })) batches.push(batch);
    return batches;
  }

  it('fetches only the files after the cursor, and counts those before it', async () => {
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

  it('fetches only the files that were missing', async () => {
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

  it('goes on at the cursor of the error of a line that is nested too deep, with the file of that line', async () => {
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

  it('refuses the cursor of another job, of another source, and of other files', async () => {
    const served = await start();
    const cursor = (await batchesIn(served)).at(5)!.cursor!;
    for (const other of [
      { ...cursor, job: 'another1' },
      { source: 'search' },
      { ...cursor, seen: 'x' },
      { ...cursor, posts: 'x' },
    ])
      expect((await download(served, { resume: other })).error).toBeInstanceOf(OptionError);
  });
});

describe('the end of a run', () => {
  it('has the reason of an abort, which closes all connections', async () => {
    const served = await start({ files: servedFiles(24) });
    const abort = new AbortController();
    const reason = new Error('enough');
    // Not at a time: before this request, four idle connections may be all, and they stay open.
    served.faults.set(served.files[7]!.segment, () => () => abort.abort(reason));
    const source = jobFiles(served.account(), UUID, { concurrency: 4 });
    await expect(pipeline(source, gunzip(), collect(), { signal: abort.signal })).rejects.toBe(
      reason,
    );
    expect(await served.server.closed(3)).toBeLessThan(AT_ONCE_MS);
  });

  it('cancels requests if the reader stops early', async () => {
    const served = await start({ files: servedFiles(24) });
    for (const { segment } of served.files.slice(3)) served.faults.set(segment, () => () => {});
    for await (const _ of jobFiles(served.account(), UUID, { concurrency: 4 })) break;
    expect(await served.server.closed(4)).toBeLessThan(AT_ONCE_MS);
  });
});

describe('before any request', () => {
  it.each<[string, string, JobFilesOptions]>([
    ['job', '../x', {}],
    ['concurrency', UUID, { concurrency: 0 }],
    ['totals', UUID, { totals: unchecked('ignore') }],
  ])('a bad `%s` is refused', async (option, job, options) => {
    const served = await start();
    expect(() => jobFiles(served.account(), job, options)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    );
    expect(served.server.received).toEqual([]);
  });

  it('a job that is not delivered, and one that is unknown, are errors of their own', async () => {
    const served = await start({ job: { status: 'running', results: undefined } });
    expect((await download(served)).error).toMatchObject({
      code: 'ERR_JOB',
      status: 'running',
      message: expect.stringMatching(
        /: only a delivered job has, and `jobs\.run` waits for that\. It is running/,
      ),
    });
    const { error } = await download({
      ...served,
      account: () => served.account({ account: 'x' }),
    });
    expect(error).toBeInstanceOf(JobError);
    expect(String(error)).toMatch(/unknown, or has expired/);
    expect((error as JobError).cause).toBeInstanceOf(HttpError);
  });
});

/** The whole text of an error, its causes included. */
function secretsOf(error: unknown): string[] {
  const texts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause)
    texts.push(String(at), at.stack ?? '', JSON.stringify(at));
  expect(texts.join('')).not.toContain(PASSWORD);
  return texts;
}
