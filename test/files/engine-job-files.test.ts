import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MillraceError } from '../../src/base/errors.js';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { Threads } from '../../src/files/thread-pool.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { files } from '../../src/sinks/files.js';
import { type Reply, status } from '../http/scripted-server.js';
import {
  type JobServer,
  type JobServerOptions,
  jobServer,
  PASSWORD,
  type ServedFile,
  servedFile,
  servedFiles,
  UUID,
  whole,
} from '../jobs/job-server.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { withSmallFiles } from './with-small-files.js';

const INFO = '{"info":{"message":"Replay Request Completed with Errors","activity_count":3,';

const FAULTS: Record<string, (file: ServedFile) => Reply> = {
  cut: ({ gzip }) => whole(gzip.subarray(0, gzip.length / 2)),
  reset: () => response => void response.socket?.resetAndDestroy(),
  flipped: ({ gzip }) => {
    const flipped = Buffer.from(gzip);
    flipped[flipped.length >> 1]! ^= 4;
    return whole(flipped);
  },
  junk: ({ gzip }) => whole(Buffer.concat([gzip, Buffer.from('junk')])),
  plain: ({ lines }) => whole(Buffer.from(`${lines.join('\n')}\n`)),
  'other posts than it says': ({ lines }) =>
    whole(gzipSync(`${lines[0]}\n{"info":{"message":"x","activity_count":3}}`)),
  'a cut line': ({ lines }) => whole(gzipSync(`${lines.join('\n')}\n{"id":2`)),
  'a mark at the start': ({ lines }) => whole(gzipSync(`\uFEFF${lines.join('\n')}\n`)),
  'a line that is no JSON': ({ lines }) => whole(gzipSync(`${lines[0]}\n{"a\n`)),
  'a post without id': ({ lines }) => whole(gzipSync(`{"text":"x"}\n${lines[0]}\n`)),
  missing: () => status(404, 'NoSuchKey'),
  'suspect minutes': ({ lines }) =>
    whole(
      gzipSync(
        `${lines.join('\r\n')}\r\n${INFO}"minutes_failed":["2024-01-01T08:03:00+00:00"]}}\n`,
      ),
    ),
  'several members': ({ lines }) =>
    whole(Buffer.concat(lines.map(line => gzipSync(`\n${line}\n\n`)))),
};

interface Fault {
  readonly file: number;
  readonly name: string;
  readonly times: number;
}

interface RunOptions {
  readonly workers: number;
  readonly concurrency: number;
  readonly signal?: AbortSignal;
}

async function run(served: JobServer, out: string, { workers, concurrency, signal }: RunOptions) {
  await mkdir(out, { recursive: true });
  const verdicts: JobVerdict[] = [];
  // Replaces what differs between two runs: the folder, the address of the server, and the checksum
  // of a checkpoint, which depends on the names of files.
  const clean = (text: string) =>
    text
      .replaceAll(out, 'OUT')
      .replaceAll(served.server.url, 'URL')
      .replace(/"(check|completed)": "[^"]+"/g, '');
  const result = await pipeline(
    jobFiles(served.account(), UUID, { concurrency, onVerdict: told => verdicts.push(told) }),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe(),
    routeByTag(),
    files({
      path: path.join(out, '{tag}.jsonl'),
      checkpoint: path.join(out, 'checkpoint.json'),
      commitIntervalMs: 0,
      workers,
    }),
    { signal },
  ).then(
    ({ posts, bytes }) => ({ posts, bytes }),
    (error: unknown) => {
      if (!(error instanceof MillraceError)) throw error;
      return { error: clean(error.message), code: error.code };
    },
  );
  const contents: Record<string, string> = {};
  for (const name of (await readdir(out)).toSorted())
    if (!name.endsWith('.lock'))
      contents[name] = clean(await readFile(path.join(out, name), 'utf8'));
  // A bad post ends the run at an unpredictable moment. Later files may have been requested by
  // then, and the verdict may have arrived. Therefore, neither is returned.
  if ('code' in result && result.code === 'ERR_DATA') return { result, contents };
  return { result, contents, verdicts, fetched: Object.fromEntries(served.fetched) };
}

async function runAgain(served: JobServer, out: string, options: RunOptions) {
  served.faults.clear();
  served.fetched.clear();
  return run(served, out, options);
}

async function serve(options: JobServerOptions, faults: readonly Fault[]): Promise<JobServer> {
  const served = await jobServer(options);
  for (const { file, name, times } of faults)
    served.faults.set(served.files[file]!.segment, (before, of) =>
      before < times ? FAULTS[name]?.(of) : undefined,
    );
  return served;
}

async function withGoodRun(files: readonly ServedFile[], options: RunOptions) {
  const folder = await temporaryFolder();
  const served = await jobServer({ files });
  onTestFinished(() => served.stop());
  const expected = await run(served, path.join(folder, 'good'), options);
  served.fetched.clear();
  return { folder, served, expected };
}

describe('job files decoded by worker threads', () => {
  it('produce the same output as on the main thread, with any faults of the download', async () => {
    const folder = await temporaryFolder();
    const scans = vi.spyOn(DecodedFile.prototype, 'write');
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            file: fc.nat(9),
            name: fc.constantFrom(...Object.keys(FAULTS)),
            times: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
          }),
          { maxLength: 4 },
        ),
        fc.constantFrom(1, 2, 4),
        async (faults, concurrency) => {
          const here = path.join(folder, `${round++}`);
          const outcomes = [];
          for (const workers of [0, 2]) {
            const served = await serve({ files: servedFiles(10) }, faults);
            try {
              const out = path.join(here, `${workers}`);
              outcomes.push([
                await run(served, out, { workers, concurrency }),
                await runAgain(served, out, { workers, concurrency }),
              ]);
            } finally {
              await served.stop();
            }
          }
          expect(outcomes[1]).toEqual(outcomes[0]);
          await rm(here, { recursive: true });
        },
      ),
      { numRuns: bySuite(3, 12), endOnFailure: true },
    );
    // Without this, the test would pass if no thread wrote anything.
    expect(scans.mock.calls.length).toBeGreaterThan(20);
  });

  it('are decoded in the order of the list even if they arrive in another order', async () => {
    const folder = await temporaryFolder();
    const served = await jobServer({ files: servedFiles(16) });
    // Of every four files, the first one arrives last. By then, the other three have been
    // requested, and could fill the only thread.
    const come = served.files.map(() => deferred());
    for (const [index, { segment }] of served.files.entries())
      served.faults.set(segment, (_, file) => async (response, request) => {
        come[index]!.resolve(undefined);
        if (index % 4 === 0) {
          await Promise.all(come.slice(index + 1, index + 4).map(({ promise }) => promise));
          await sleep(50);
        }
        await whole(file.gzip)(response, request);
      });
    try {
      const { result } = await run(served, path.join(folder, 'out'), {
        workers: 1,
        concurrency: 4,
      });
      expect(result).toMatchObject({ posts: 48 });
    } finally {
      await served.stop();
    }
  });

  it('are downloaded while earlier files wait to be decoded', async () => {
    const folder = await temporaryFolder();
    const served = await jobServer({ files: servedFiles(6) });
    const third = deferred();
    const [first, , { segment }] = served.files as [ServedFile, ServedFile, ServedFile];
    let wasRequested = false;
    served.faults.set(segment, () => {
      wasRequested = true;
      third.resolve(undefined);
      return undefined;
    });
    const requestedBefore: boolean[] = [];
    served.faults.set(first.segment, (_, file) => async (response, request) => {
      await Promise.race([third.promise, sleep(1_000)]);
      requestedBefore.push(wasRequested);
      await whole(file.gzip)(response, request);
    });
    try {
      await run(served, path.join(folder, 'out'), { workers: 1, concurrency: 2 });
      expect(requestedBefore).toEqual([true]);
    } finally {
      await served.stop();
    }
  });

  it('are fetched again if a worker thread exits while it holds their bytes', async () => {
    const options = { workers: 1, concurrency: 2 };
    const { folder, served, expected } = await withGoodRun(servedFiles(6), options);
    const scan = vi.spyOn(Threads.prototype, 'decode').mockImplementationOnce(async ({ file }) => {
      if ('bytes' in file) structuredClone(0, { transfer: [file.bytes.buffer as ArrayBuffer] });
      return undefined;
    });
    onTestFinished(() => scan.mockRestore());
    const { contents, fetched } = await run(served, path.join(folder, 'ended'), options);
    expect(contents).toEqual(expected.contents);
    expect(Object.values(fetched!).toSorted()).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('leave no threads behind on an abort, and continue from the checkpoint', async () => {
    const options = { workers: 2, concurrency: 4 };
    const { folder, served, expected } = await withGoodRun(servedFiles(16), options);
    const before = await threads();
    const reason = new Error('enough');
    for (const at of [0, 3, 8, 15]) {
      const out = path.join(folder, `${at}`);
      const controller = new AbortController();
      served.faults.set(served.files[at]!.segment, () => {
        controller.abort(reason);
        return undefined;
      });
      const { signal } = controller;
      await expect(run(served, out, { ...options, signal })).rejects.toBe(reason);
      expect(await threads()).toBeLessThanOrEqual(before);
      const { contents } = await runAgain(served, out, options);
      expect(contents).toEqual(expected.contents);
    }
  });

  it('fail with ENOSPC on a full disk, and the next run continues once there is space', async () => {
    const lines = (file: number) =>
      Array.from({ length: 100 }, (_, at) => {
        const id = 1 + file * 100 + at;
        return `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${'x'.repeat(2_000)}","matching_rules":[{"tag":"t","id":1}]}`;
      });
    const large = servedFiles(8).map(({ segment }, file) => servedFile(segment, lines(file)));
    const options = { workers: 2, concurrency: 2 };
    const { folder, served, expected } = await withGoodRun(large, options);
    const out = path.join(folder, 'full');
    const settings = {
      historicalUrl: served.server.url,
      account: 'acme',
      publisher: 'twitter',
      email: 'me@acme.test',
      password: PASSWORD,
    };
    const sink = {
      path: path.join(out, '{tag}.jsonl'),
      checkpoint: path.join(out, 'checkpoint.json'),
      commitIntervalMs: 0,
      workers: 2,
    };
    const stdout = await withSmallFiles(
      'account, activities, dedupe, files, gunzip, jobFiles, jsonLines, routeByTag',
      `jobFiles(account(${JSON.stringify(settings)}), ${JSON.stringify(UUID)}, { concurrency: 2 }), gunzip(), jsonLines(), activities(), dedupe(), routeByTag(), files(${JSON.stringify(sink)})`,
    );
    expect(stdout).toMatch(/^ERR_STORAGE .*t\.jsonl\.part.* EFBIG\n$/);
    const { contents, result } = await runAgain(served, out, options);
    expect(result).toEqual(expected.result);
    expect(contents).toEqual(expected.contents);
  });
});

async function threads(): Promise<number> {
  return process.platform === 'linux' ? (await readdir('/proc/self/task')).length : 0;
}

function deferred(): { readonly promise: Promise<unknown>; resolve(value: unknown): void } {
  let resolve = (_: unknown) => {};
  const promise = new Promise(resolved => {
    resolve = resolved;
  });
  return { promise, resolve };
}
