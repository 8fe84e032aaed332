import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConnectionError } from '../src/base/errors.js';
import { DAY, floorTo, HOUR, MINUTE } from '../src/base/time.js';
import { compliance } from '../src/compliance/compliance.js';
import { pipeline } from '../src/flow/pipeline.js';
import { type Account, type AccountOptions, account } from '../src/http/account.js';
import { fromJetStream } from '../src/jetstream/from-jet-stream.js';
import { toJetStream } from '../src/jetstream/to-jet-stream.js';
import { downloadJob } from '../src/jobs/download-job.js';
import { jobFiles } from '../src/jobs/job-files.js';
import { runJob } from '../src/jobs/run-job.js';
import { activities } from '../src/operators/activities.js';
import { jsonLines } from '../src/operators/json-lines.js';
import { tap } from '../src/operators/tap.js';
import type { Activity } from '../src/post/activity.js';
import { replay } from '../src/replay/replay.js';
import { search } from '../src/search/search.js';
import { createService } from '../src/service/index.js';
import { collect } from '../src/sinks/collect.js';
import { files } from '../src/sinks/files.js';
import { localFiles } from '../src/sources/local-files.js';
import { signIn } from '../src/users/sign-in.js';
import { begin, COMPLETED, info, stream } from './http/live-wire.js';
import { scriptedAccount } from './http/scripted-account.js';
import { json, ScriptedServer, status } from './http/scripted-server.js';
import { connecting } from './jetstream/connecting.js';
import { hasNatsServer, INSTALL, startNode } from './jetstream/nats-server.js';
import { numberedSource } from './jetstream/numbered-posts.js';
import { jobServer, UUID } from './jobs/job-server.js';
import { temporaryFolder } from './temporary-folder.js';
import { localUser } from './users/local-user.js';

type Callback = (...args: unknown[]) => unknown;

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  folder = await temporaryFolder();
});
afterEach(() => server.stop());

const acme = (options?: AccountOptions) => scriptedAccount(server, options);

async function linesOf(...lines: readonly string[]) {
  const file = path.join(folder, 'a.jsonl');
  await writeFile(file, lines.join('\n'));
  return localFiles(file);
}

const query = { query: 'snow', product: '30day' } as const;
const post = { id: 1, id_str: '1', text: 'x' };

function replayOf(ageMs: number, options: object, signal: AbortSignal | undefined) {
  const from = floorTo(MINUTE, Date.now() - ageMs);
  const window = { fromDate: new Date(from), toDate: new Date(from + 20 * MINUTE) };
  const of = acme({ serviceTime: () => Date.now() });
  return collect()(replay(of, { streamType: 'rulestream', ...window, folder, ...options }), {
    signal,
  });
}

function complianceWith(options: object, signal: AbortSignal | undefined) {
  server.otherwise = response => {
    begin(response);
    const gzip = createGzip();
    gzip.pipe(response);
    gzip.write('not JSON\r\n{"user_delete":{"id":}}\r\n');
    gzip.flush(constants.Z_SYNC_FLUSH, () => setTimeout(() => response.destroy(), 20));
  };
  return collect()(compliance(acme(), { backfill: false, ...options }), { signal });
}

async function withJobServer(run: (of: Account) => Promise<unknown>): Promise<unknown> {
  const served = await jobServer();
  try {
    return await run(served.account());
  } finally {
    await served.stop();
  }
}

const JOB = {
  title: 'a',
  fromDate: '202401010000',
  toDate: '202401010100',
  dataFormat: 'original',
  rules: [{ value: 'coffee' }],
} as const;

const RUNS: Readonly<
  Record<string, (callback: Callback, signal?: AbortSignal) => Promise<unknown>>
> = {
  'http/account.ts onRetry': async (onRetry, signal) => {
    server.otherwise = status(503);
    return collect()(search(acme({ onRetry }), query), { signal });
  },
  'search/search.ts onDamaged': async (onDamaged, signal) => {
    server.script.push(
      json({ results: [post], next: 'n' }),
      json({ results: [{ text: 'no id' }] }),
    );
    return collect()(search(acme(), { ...query, onDamaged }), { signal });
  },
  'search/search.ts onQueries': async (onQueries, signal) => {
    server.otherwise = json({ results: [post] });
    const rules = { product: '30day', rules: [{ value: 'snow' }] } as const;
    return collect()(search(acme(), { ...rules, onQueries }), { signal });
  },
  'search/query.ts onGap': async (onGap, signal) => {
    server.otherwise = json({ results: [post] });
    let now = Date.now();
    const of = acme({ serviceTime: () => now });
    const incremental = { query: 'snow', product: '30day', incremental: true } as const;
    const sink = () =>
      files({ path: path.join(folder, 'out.jsonl'), checkpoint: path.join(folder, 'c.json') });
    await pipeline(search(of, incremental), sink());
    // More time has passed since the last run than the product can search.
    now += 60 * DAY;
    return pipeline(search(of, { ...incremental, onGap }), sink(), { signal });
  },
  'sinks/commit/call-on-file.ts onFile': async (onFile, signal) =>
    pipeline(
      await linesOf('{"id":1}'),
      jsonLines(),
      files({
        path: path.join(folder, 'out.jsonl'),
        checkpoint: path.join(folder, 'c.json'),
        onFile,
      }),
      { signal },
    ),
  'operators/json-lines.ts onDamaged': async (onDamaged, signal) =>
    pipeline(await linesOf('{"id":1}', 'not JSON'), jsonLines({ onDamaged }), collect(), {
      signal,
    }),
  'operators/activities.ts onDamaged': async (onDamaged, signal) =>
    pipeline(await linesOf('{"a":1}'), jsonLines(), activities({ onDamaged }), collect(), {
      signal,
    }),
  'operators/activities.ts onMessage': async (onMessage, signal) =>
    pipeline(
      await linesOf('{"info":{"message":"x","sent":"2024-01-01T00:00:00+00:00"}}'),
      jsonLines(),
      activities({ onMessage }),
      collect(),
      { signal },
    ),
  'replay/replay.ts onDamaged': async (onDamaged, signal) => {
    server.otherwise = stream(['{"id":1', info(COMPLETED, 1)]);
    return replayOf(3 * HOUR, { onDamaged }, signal);
  },
  'replay/replay.ts onGap': async (onGap, signal) => replayOf(7 * DAY, { onGap }, signal),
  'replay/replay.ts onWait': async (onWait, signal) => replayOf(15 * MINUTE, { onWait }, signal),
  'compliance/compliance.ts onDamaged': async (onDamaged, signal) =>
    complianceWith({ onDamaged }, signal),
  'compliance/compliance.ts onGap': async (onGap, signal) =>
    complianceWith({ onDamaged() {}, onGap }, signal),
  'jobs/job-files.ts onVerdict': async (onVerdict, signal) =>
    withJobServer(of => collect()(jobFiles(of, UUID, { onVerdict }), { signal })),
  'jobs/download-job.ts onFile': async (onFile, signal) =>
    withJobServer(of => downloadJob(of, UUID, { folder, onFile, signal })),
  'jobs/run-job.ts onStatus': async (onStatus, signal) => {
    await using service = createService({ limits: 'relaxed', jobDwellMs: 15 });
    const of = account(await service.start(), {});
    return await runJob(of, { ...JOB, decide: () => true, onStatus, signal });
  },
  'flow/pipeline-arguments.ts onSummary': async (onSummary, signal) =>
    pipeline(await linesOf('{"id":1}'), collect(), { onSummary, signal }),
  'jetstream/from-jet-stream.ts onGap': async (onGap, signal) => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const create = { maxBytes: 1 << 20, shards: 4 };
    await pipeline(numberedSource({ total: 9 }), toJetStream({ ...to, create }));
    const connection = await connect({ servers: node.url });
    try {
      await (await jetstreamManager(connection)).streams.deleteMessage('posts', 5);
    } finally {
      await connection.close();
    }
    return await collect()(fromJetStream({ ...to, until: 'caught up', onGap }), { signal });
  },
  'jetstream/to-jet-stream.ts onDamaged': async (onDamaged, signal) => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const create = { maxBytes: 1 << 20, shards: 4 };
    const lines = await linesOf('{"text":"no id"}');
    return await pipeline(
      lines,
      jsonLines(),
      activities(),
      toJetStream({ ...to, create, onDamaged }),
      { signal },
    );
  },
};

/** Callbacks whose names do not start with `on`. */
const OTHERS: typeof RUNS = {
  'of tap': async (look, signal) =>
    pipeline(await linesOf('{"id":1}'), tap(look), collect(), { signal }),
  'progress of a pipeline': async (progress, signal) =>
    pipeline(await linesOf('{"id":1}'), collect(), { progress, signal }),
  'progress of an endless pipeline': async (progress, signal) => {
    const endless = async function* () {
      while (true) yield await sleep(5);
    };
    await pipeline(endless(), collect(), { progress, signal });
  },
  'onRetry in a replay': async (onRetry, signal) => {
    server.otherwise = status(503);
    const [fromDate, toDate] = [new Date(Date.now() - 3 * HOUR), new Date(Date.now() - 2 * HOUR)];
    const flow = replay(acme({ onRetry }), { streamType: 'rulestream', fromDate, toDate, folder });
    return collect()(flow, { signal });
  },
  'onRetry in a compliance stream': async (onRetry, signal) => {
    server.otherwise = status(503);
    return collect()(compliance(acme({ onRetry }), { backfill: false }), { signal });
  },
  'decide of jobs.run': async (decide, signal) => {
    await using service = createService({ limits: 'relaxed', jobDwellMs: 15 });
    const of = account(await service.start(), {});
    return await runJob(of, {
      ...JOB,
      decide: async (...args) => (await decide(...args)) === true,
      signal,
    });
  },
  'open of users.signIn': async (open, signal) => {
    const local = await localUser();
    return signIn(local.acme, { open, signal });
  },
};

const canRun = (name: string) => !name.startsWith('jetstream/') || hasNatsServer;
if (!hasNatsServer) it.skip(`the test of the callbacks of millrace/jetstream ${INSTALL}`);

const runnable = Object.entries({ ...RUNS, ...OTHERS }).filter(([name]) => canRun(name));
describe.each(runnable)('a run with the callback %s', (_, run) => {
  // This is one of the library's own errors, and it is retryable. If a callback throws it, the
  // library must neither retry nor wrap it.
  const failure = new ConnectionError('no room in the log', { failure: 'reset', url: 'http://x/' });

  it('rejects with the same error if the callback throws', async () => {
    const thrown = run(() => {
      throw failure;
    });
    await expect(thrown).rejects.toBe(failure);
  });

  it('rejects with the same error if the promise of the callback rejects', async () => {
    const rejected = run(async () => {
      await sleep(1);
      throw failure;
    });
    await expect(rejected).rejects.toBe(failure);
  });

  it('rejects with the reason of an abort while the promise of the callback is pending', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const aborted = run(() => {
      setImmediate(() => controller.abort(reason));
      return new Promise(() => {});
    }, controller.signal);
    await expect(aborted).rejects.toBe(reason);
  });
});

it('every callback of a public function has a test in callbacks.test.ts', async () => {
  const found: string[] = [];
  for (const file of await readdir('src', { recursive: true })) {
    if (!file.endsWith('.ts') || file.startsWith('service/')) continue;
    const source = await readFile(path.join('src', file), 'utf8');
    for (const [, name] of source.matchAll(/^ {2}(on[A-Z]\w+): func\b/gm))
      found.push(`${file} ${name}`);
  }
  expect(found.toSorted()).toEqual(Object.keys(RUNS).toSorted());
});

it('records after a damaged record wait for the promise of onDamaged', async () => {
  const order: string[] = [];
  await pipeline(
    await linesOf('{"id":1}', 'bad', 'worse', '{"id":2}', '{"a":3}', '{"id":4}'),
    jsonLines({ onDamaged: async record => order.push(await slowly(`line: ${record.raw}`)) }),
    activities({ onDamaged: async record => order.push(await slowly(`post: ${record.raw}`)) }),
    tap((activity: Activity) => order.push(activity.id)),
    collect(),
  );
  expect(order).toEqual(['line: bad', 'line: worse', 'post: {"a":3}', '1', '2', '4']);
});

async function slowly<T>(value: T): Promise<T> {
  await sleep(2);
  return value;
}
