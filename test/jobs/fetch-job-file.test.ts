import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DataError, IncompleteError, JobError, StorageError } from '../../src/base/errors.js';
import { fetchJobFiles } from '../../src/jobs/fetch-job-file.js';
import { type Reply, reset, status } from '../http/scripted-server.js';
import { type JobServer, largeFile, PASSWORD, servedFiles, whole } from './job-server.js';
import { download, start, stopServersAfterTests } from './local-job-files.js';

stopServersAfterTests();

/**
 * For every second file, replaces the replies to the first `times` requests. Returns the segments
 * of these files.
 */
function plant(served: JobServer, times: number, fault: (file: Buffer) => Reply): string[] {
  const hit = served.files.filter((_, index) => index % 2 === 1);
  for (const { segment } of hit)
    served.faults.set(segment, (before, file) => (before < times ? fault(file.gzip) : undefined));
  return hit.map(file => file.segment);
}

const LARGE_AND_DAMAGED = largeFile(6_000_000, ['{"id":1']);

const LINE_WITHOUT_END = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));

const FAULTS: Record<string, (file: Buffer) => Reply> = {
  'truncated, although the response ends cleanly': file => whole(file.subarray(0, file.length / 2)),
  'shorter than its Content-Length': file => response => {
    response.setHeader('content-length', file.length);
    response.write(file.subarray(0, file.length / 2), () => response.socket?.end());
  },
  'reset in the middle': file => response => {
    response.setHeader('content-length', file.length);
    response.write(file.subarray(0, file.length / 2), () => response.socket?.resetAndDestroy());
  },
  'reset before the first byte': () => reset,
  'without its last byte': file => whole(file.subarray(0, -1)),
  'with a flipped bit': file => {
    const flipped = Buffer.from(file);
    flipped[flipped.length >> 1] = flipped[flipped.length >> 1]! ^ 4;
    return whole(flipped);
  },
  'followed by junk': file => whole(Buffer.concat([file, Buffer.from('junk')])),
  empty: () => whole(Buffer.alloc(0)),
  'not gzip': () => whole(Buffer.from('{"a":1}\n')),
  'complete, but with fewer posts than its info line says': () =>
    whole(gzipSync('{"id":1}\n{"info":{"message":"Replay Request Completed","activity_count":3}}')),
  'complete, but with a truncated line': () => whole(gzipSync('{"id":1}\n{"id":2')),
  'several MB with a damaged first line': () => whole(LARGE_AND_DAMAGED),
  'missing (404)': () => status(404, 'NoSuchKey'),
  'forbidden (403)': () => status(403),
  'unavailable (503)': () => status(503, '', { 'retry-after': '1' }),
};

function secretsOf(error: unknown): string[] {
  const texts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause)
    texts.push(String(at), at.stack ?? '', JSON.stringify(at));
  expect(texts.join('')).not.toContain(PASSWORD);
  return texts;
}

describe('a temporary fault in the download of a job', () => {
  it.each(Object.entries(FAULTS))(
    '(file: %s) is overcome because the file is fetched again',
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

  it('that stalls a file is overcome because the file is fetched again', async () => {
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

  it('is not reported while a slow file arrives byte by byte', async () => {
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

  it.each([
    ['once', [10]],
    ['twice', [6, 16]],
  ])(
    'that makes all URLs expire %s is overcome because the list is requested each time',
    async (_, at) => {
      const served = await start({ files: servedFiles(24) });
      for (const [before, index] of at.entries())
        served.faults.set(served.files[index]!.segment, () => {
          served.expired = Math.max(served.expired, before + 1);
          return undefined;
        });
      const { lines, error } = await download(served);
      expect(error).toBeUndefined();
      expect(lines).toEqual(served.lines);
      expect(served.listings).toBe(1 + at.length);
    },
  );

  it.each([
    ['once', 1],
    ['twice', 2],
  ])(
    'that shortens the list %s to fewer URLs than announced is overcome because the list is requested again',
    async (_, times) => {
      const served = await start();
      const { otherwise } = served.server;
      const short: Reply = response => {
        response.end(JSON.stringify({ urlCount: 12, urlList: [] }));
      };
      served.server.script.push(otherwise, ...Array<Reply>(times).fill(short));
      const { lines, error } = await download(served);
      expect(error).toBeUndefined();
      expect(lines).toEqual(served.lines);
    },
  );
});

describe('a permanent fault in the download of a job', () => {
  it.each(Object.entries(FAULTS))(
    '(file: %s) fails the run with the name of the file after all other files are fetched',
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
      'several MB with a damaged line',
      LARGE_AND_DAMAGED,
      /Expected a JSON object on each line: .*, line 1/,
    ],
    ['with an endless line', LINE_WITHOUT_END, /A line is larger than 67108864 bytes/],
  ])('(file: %s) is explained in the error', async (_, file, message) => {
    const served = await start({ files: servedFiles(3) });
    // Inflating 64 MiB in every attempt would take too long, so only the last attempts get the
    // large file.
    const small = Buffer.alloc(0);
    served.faults.set(served.files[1]!.segment, before => whole(before < 5 ? small : file));
    const { error } = await download(served);
    expect((error as IncompleteError).cause).toBeInstanceOf(DataError);
    expect((error as Error).message).toMatch(message);
  });

  it('is retried only once, after all other files are fetched', async () => {
    const served = await start();
    const late = served.files[2]!;
    served.faults.set(late.segment, before => (before < 6 ? status(404) : undefined));
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    const others = served.files.filter(file => file !== late);
    expect(lines).toEqual([...others, late].flatMap(file => file.lines));
  });

  it('that affects two files fails the run with the error of the later file', async () => {
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

  it('that affects all files ends the run early', async () => {
    const served = await start({ files: servedFiles(72) });
    for (const { segment } of served.files) served.faults.set(segment, () => status(404));
    const { lines, error } = await download(served);
    expect(lines).toEqual([]);
    expect((error as IncompleteError).missing.length).toBe(72);
    expect(served.fetched.size).toBeLessThan(30);
  });

  it('that makes every connection fail ends the run with the names of the remaining files', async () => {
    const served = await start();
    served.faults.set(served.files[6]!.segment, () => () => served.server.resetConnections());
    const { error, lines } = await download(served, { concurrency: 1 });
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as IncompleteError).cause).toMatchObject({ code: 'ERR_CONNECTION' });
    expect((error as IncompleteError).missing).toEqual(
      served.files.slice(lines.length / 3).map(file => file.segment),
    );
  });

  it('that makes the job expire fails the run with the date of expiry', async () => {
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

  it('that shortens the list to fewer files than announced fails the run with both numbers', async () => {
    const served = await start({ listing: { urlCount: 13 } });
    const { lines, error } = await download(served);
    expect(lines).toEqual(served.lines);
    expect((error as IncompleteError).missing).toEqual(['12 of 13 files are listed (urlCount)']);
  });

  it.each([
    ['bytes', { listing: { totalFileSizeBytes: 7 } }, /\d+ of 7 bytes \(totalFileSizeBytes\)/],
    ['posts', { results: { activityCount: '37' } }, /36 of 37 posts \(activityCount\)/],
  ])(
    "that changes the total of %s fails the run unless `totals` is 'report'",
    async (_, options, expected) => {
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
    },
  );

  it.each([
    ['a segment twice', (urls: string[]) => [urls[0]!, urls[0]!], /listed twice/],
    [
      'plain http to another host',
      () => ['http://files.example/2024/a.gz?Signature=canary'],
      /https/,
    ],
    ['another protocol', () => ['file:///etc/passwd'], /https/],
    ['no URL', () => ['../../etc/passwd'], /got "..\/..\/etc\/passwd"/],
    ['credentials in a URL', () => ['https://a:canary@files.example/x'], /https/],
  ])('(list with %s) fails the run', async (_, list, expected) => {
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

describe('fetchJobFiles', () => {
  const files = ['a', 'b'].map(name => ({ name, path: name }));

  it('fails with an error that affects all files only after all running fetches have ended', async () => {
    const full = new StorageError('The disk is full', { path: 'a' });
    const ended: string[] = [];
    let startB: () => void = () => {};
    const startedB = new Promise<void>(resolve => (startB = resolve));
    const fetching = fetchJobFiles(files, [], {
      signal: new AbortController().signal,
      concurrency: 2,
      ahead: 0,
      async fetch({ name }, _limit, signal) {
        if (name === 'a') {
          await startedB;
          throw full;
        }
        startB();
        if (!signal.aborted)
          await new Promise(resolve => signal.addEventListener('abort', resolve));
        await sleep(20);
        ended.push(name);
      },
    });
    await expect(fetching.next()).rejects.toBe(full);
    expect(ended).toEqual(['b']);
  });

  it('continues after many files have failed if they do not follow each other', async () => {
    const names = Array.from({ length: 20 }, (_, number) => String(number));
    const fetched = new Set<string>();
    const fetching = fetchJobFiles(
      names.map(name => ({ name, path: name })),
      [],
      {
        signal: new AbortController().signal,
        concurrency: 1,
        ahead: 0,
        async fetch({ name }) {
          const isFirst = !fetched.has(name);
          fetched.add(name);
          if (isFirst && Number(name) % 2 === 1) throw new DataError(`The file ${name} is damaged`);
          return name;
        },
      },
    );
    const made: string[] = [];
    for await (const outcome of fetching) if ('made' in outcome) made.push(outcome.made);
    expect(made.toSorted()).toEqual(names.toSorted());
  });

  it('fetches each file that fails a second time, and then no more', async () => {
    const failing = ['a', 'b', 'c'].map(name => ({ name, path: name }));
    const fetched: string[] = [];
    const fetching = fetchJobFiles(failing, [], {
      signal: new AbortController().signal,
      concurrency: 1,
      ahead: 0,
      async fetch({ name }) {
        fetched.push(name);
        throw new DataError(`The file ${name} is damaged`);
      },
    });
    const failed: string[] = [];
    for await (const { file } of fetching) failed.push(file.name);
    expect(fetched).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    expect(failed).toEqual(fetched);
  });
});
