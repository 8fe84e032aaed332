import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Addresses, createService, type Service } from '../../src/service/index.js';
import { jobServer, servedFiles, UUID, whole } from '../jobs/job-server.js';
import { LOGIN } from '../login.js';
import { timingOf } from '../replay/service-timing.js';
import { unchecked } from '../unchecked.js';
import { CountingProxy } from './calls/counting-proxy.js';
import { loadLibrary } from './load-library.js';
import { expectedPosts, fetchBody, hashOf, idOf } from './matrix/bare-client.js';
import { mustEqual } from './matrix/compare.js';
import type { Cell, Counts, Part, Trial } from './part.js';

type Millrace = typeof import('millrace');

const NOW = Date.UTC(2024, 4, 15, 12, 34, 56);
const MINUTE = 60_000;
/** A whole minute, 2 hours before `NOW`, at which the replays start. */
const FROM = NOW - (NOW % MINUTE) - 120 * MINUTE;
const COUNT = 20;

const CELLS: readonly (Cell & { run(millrace: Millrace, trial: Trial): Promise<Counts> })[] = [
  {
    name: 'jobs.create/lost-answer',
    expects: 'holds',
    why: 'the job is created once, and the call does not send a second creation',
    run: createdOnce,
  },
  {
    name: 'replay/failed-minutes',
    expects: 'recovers',
    run: failedMinutes,
  },
  {
    name: 'replay/connection-limit',
    expects: 'holds',
    why: 'the service never has to refuse a connection, however often one breaks and the script is started again',
    run: withinLimit,
  },
  {
    name: 'jobs.download/trailer-cut',
    expects: 'recovers',
    why: 'a file without the last bytes of its gzip trailer has all posts, and is fetched again',
    run: trailerCut,
  },
  {
    name: 'files/second-run',
    expects: 'holds',
    why: 'a second run at the same time is refused, and the first is not disturbed',
    run: secondRun,
  },
  {
    name: 'files/other-order',
    expects: 'recovers',
    why: 'a source that gives less after the cursor than before: nothing of the failed run stays',
    run: otherOrder,
  },
];

export const calls: Part = {
  name: 'calls',
  title: 'Calls and limits',
  promise: 'A call that costs money is made once; limits are kept; a second run is refused.',
  seeds: 20,
  cells: CELLS.map(({ name, expects, why }) => ({ name, expects, why })),
  open: setting => ({
    async run(cell, trials) {
      const millrace = await loadLibrary(setting);
      const { run } = CELLS.find(({ name }) => name === cell.name) ?? {};
      if (run === undefined) throw new Error(`Not a cell of this part: ${cell.name}`);
      await trials.each(trial => run(millrace, trial));
    },
  }),
};

/**
 * Starts a service with a frozen clock. When the library waits, this clock advances and no real
 * time passes.
 */
async function withService<T>(
  options: Parameters<typeof createService>[0],
  work: (service: Service, addresses: Addresses) => Promise<T>,
): Promise<T> {
  const service = createService({ postsPerMinute: 10, heartbeatMs: 30, jobDwellMs: 0, ...options });
  service.clock.freeze();
  service.clock.set(NOW);
  try {
    return await work(service, await service.start());
  } finally {
    await service.stop();
  }
}

const minuteOf = (ms: number) => new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12);

async function createdOnce(millrace: Millrace, { random }: Trial): Promise<Counts> {
  return withService({ limits: 'relaxed' }, async (service, addresses) => {
    const { id } = service.faults.plant({
      kind: 'cut',
      endpoint: 'jobs',
      end: random.pick(['reset', 'close'] as const),
      afterBytes: random.whole(0, 60),
    });
    // A proxy counts the requests, so the count does not depend on the library.
    const proxy = await CountingProxy.open(addresses.baseUrl);
    const account = millrace.account(
      unchecked({
        ...(addresses as object),
        historicalUrl: addresses.historicalUrl.replace(addresses.baseUrl, proxy.url),
        timing: timingOf(service),
      }),
    );
    try {
      const job = await millrace.jobs.create(
        account,
        unchecked({
          title: 'once',
          dataFormat: 'original',
          rules: [{ value: 'coffee' }],
          fromDate: '202403010000',
          toDate: '202403020000',
        }),
      );
      const hits = service.faults.clear(id) === 0 ? 1 : 0;
      if (job.title !== 'once') throw new Error(`Another job: ${job.title}`);
      if (proxy.creations !== 1) throw new Error(`Sent ${proxy.creations} creations`);
      return { hits };
    } finally {
      await account.close();
      await proxy.close();
    }
  });
}

async function failedMinutes(millrace: Millrace, { random, folder }: Trial): Promise<Counts> {
  return withService({ limits: 'relaxed' }, async (service, addresses) => {
    const window = { fromDate: minuteOf(FROM), toDate: minuteOf(FROM + COUNT * MINUTE) };
    const expected = await replayed(addresses, window);
    const minutes = Array.from({ length: random.whole(1, 4) }, () =>
      minuteOf(FROM + random.whole(0, COUNT - 1) * MINUTE),
    );
    const deliver = random.pick(['none', 'part'] as const);
    const { id } = service.faults.plant({ kind: 'minutes-failed', minutes, deliver, times: 1 });
    await replayTo(millrace, service, addresses, { window, folder, limits: { replay: [] } });
    const hits = service.faults.clear(id) === 0 ? 1 : 0;
    return { hits, posts: await mustHave(folder, expected) };
  });
}

async function withinLimit(millrace: Millrace, { random, folder }: Trial): Promise<Counts> {
  return withService({}, async (service, addresses) => {
    const window = { fromDate: minuteOf(FROM), toDate: minuteOf(FROM + COUNT * MINUTE) };
    const expected = await replayed(addresses, window);
    service.clock.advance(10 * MINUTE);
    const { id } = service.faults.plant({
      kind: 'content-cut',
      afterMessages: random.whole(0, 20),
      end: 'reset',
      times: random.whole(6, 12),
    });
    let refused = 0;
    const ended = new Error('The process ends here');
    const onRetry = ({ error }: { readonly error: Error }) => {
      if ((error as { status?: number }).status === 429) refused++;
      if (random.chance(0.8)) throw ended;
    };
    let runs = 0;
    for (let isComplete = false; !isComplete; runs++)
      isComplete = await replayTo(millrace, service, addresses, { window, folder, onRetry }).then(
        () => true,
        error => {
          if (error !== ended) throw error;
          return false;
        },
      );
    if (refused > 0) throw new Error(`The service refused ${refused} connections`);
    const hits = service.faults.effects(id);
    return { hits, runs, posts: await mustHave(folder, expected) };
  });
}

/**
 * Replays a window into files. Creates a new account, whose rate limiter knows of no earlier
 * requests, as in a new process.
 */
async function replayTo(
  { account, dedupe, files, pipeline, replay }: Millrace,
  service: Service,
  addresses: Addresses,
  {
    window,
    folder,
    limits,
    onRetry,
  }: {
    window: { fromDate: string; toDate: string };
    folder: string;
    limits?: object;
    onRetry?: (retrying: { readonly error: Error }) => void;
  },
): Promise<void> {
  const client = account(unchecked({ ...addresses, timing: timingOf(service), limits, onRetry }));
  try {
    await pipeline(
      replay(client, {
        streamType: 'firehose',
        ...window,
        folder: path.join(folder, 'spool'),
        timings: { firstChunkMs: 4 * MINUTE, maxChunkMs: 4 * MINUTE },
      }),
      dedupe(),
      files({
        path: path.join(folder, 'posts.jsonl'),
        checkpoint: path.join(folder, 'run.json'),
        commitIntervalMs: 0,
      }),
    );
  } finally {
    await client.close();
  }
}

async function mustHave(
  folder: string,
  expected: ReturnType<typeof expectedPosts>,
): Promise<number> {
  const lines = (await readFile(path.join(folder, 'posts.jsonl'), 'utf8')).trimEnd().split('\n');
  mustEqual(
    lines.map(line => [idOf(line), hashOf(line)]),
    expected,
  );
  return lines.length;
}

async function replayed(
  addresses: Addresses,
  window: Record<string, string>,
): Promise<ReturnType<typeof expectedPosts>> {
  const { account, publisher, streamLabel, replayStreamUrl } = addresses;
  const url = `${replayStreamUrl}/replay/firehose/accounts/${account}/publishers/${publisher}/${streamLabel}.json?${new URLSearchParams(window)}`;
  const lines = (await fetchBody(addresses, url)).split('\r\n');
  return expectedPosts(lines.filter(line => line !== '' && !line.startsWith('{"info"')));
}

async function trailerCut(millrace: Millrace, { random, folder }: Trial): Promise<Counts> {
  const served = await jobServer({ files: servedFiles(3) });
  const { segment, gzip } = random.pick(served.files);
  const cut = gzip.subarray(0, -random.whole(1, 8));
  served.faults.set(segment, before => (before === 0 ? whole(cut) : undefined));
  const account = millrace.account(
    {
      historicalUrl: served.server.url,
      account: 'acme',
      publisher: 'twitter',
      ...LOGIN,
      retry: { firstWaitMs: 1 },
      limits: { jobReads: [], jobCreation: [] },
    },
    {},
  );
  try {
    await millrace.jobs.download(account, UUID, { folder });
    for (const file of served.files) {
      const name = `${file.segment.slice(0, 8)}/${file.segment.slice(8)}.json.gz`;
      if (!(await readFile(path.join(folder, name))).equals(file.gzip))
        throw new Error(`${name} is not whole`);
    }
    return { hits: (served.fetched.get(segment) ?? 0) > 0 ? 1 : 0 };
  } finally {
    await account.close();
    await served.stop();
  }
}

interface Numbered {
  readonly n: number;
}

async function secondRun(millrace: Millrace, { random, folder }: Trial): Promise<Counts> {
  const { Flow, files, pipeline } = millrace;
  const total = random.whole(2, 50);
  const at = random.whole(0, total - 1);
  const sink = () =>
    files<Numbered>({
      path: path.join(folder, 'all.jsonl'),
      checkpoint: path.join(folder, 'run.json'),
      commitIntervalMs: 0,
    });
  const run = (pause: () => Promise<void>) =>
    pipeline(
      new Flow<Numbered>(async function* () {
        for (let n = 0; n < total; n++) {
          yield { items: [{ n }], cursor: { next: n + 1 } };
          if (n === at) await pause();
        }
      }),
      sink(),
    );
  let second: PromiseSettledResult<unknown> | undefined;
  const { files: written } = await run(async () => {
    [second] = await Promise.allSettled([run(async () => {})]);
  });
  if (second?.status !== 'rejected') throw new Error('The second run was not refused');
  if (!(second.reason instanceof millrace.StorageError)) throw second.reason;
  const lines = (await readFile(written[0]?.path ?? '', 'utf8')).trimEnd().split('\n');
  const expected = Array.from({ length: total }, (_, n) => JSON.stringify({ n }));
  if (String(lines) !== String(expected)) throw new Error(`Wrong lines: ${lines.slice(0, 5)}`);
  return { hits: 1 };
}

/**
 * Fails a run that has written many posts since its last commit. The next run writes fewer posts,
 * and no uncommitted post may remain in the file.
 */
async function otherOrder(millrace: Millrace, { random, folder }: Trial): Promise<Counts> {
  const { Flow, files, pipeline } = millrace;
  const committed = random.whole(1, 20);
  const sink = () =>
    files<Numbered>({
      path: path.join(folder, 'all.jsonl'),
      checkpoint: path.join(folder, 'run.json'),
      commitIntervalMs: 0,
    });
  const failure = new Error('The run ends here');
  const first = pipeline(
    new Flow<Numbered>(async function* () {
      for (let n = 0; n < committed; n++) yield { items: [{ n }], cursor: { next: n + 1 } };
      for (let n = committed; n < committed + 40_000; n++) yield { items: [{ n: n + 10 ** 9 }] };
      await new Promise(resolve => setTimeout(resolve, 20));
      throw failure;
    }),
    sink(),
  );
  await first.then(
    () => {
      throw new Error('The first run did not fail');
    },
    error => {
      if (error !== failure) throw error;
    },
  );
  const before = (await readFile(path.join(folder, 'all.jsonl.part'))).length;
  const rest = random.whole(0, 3);
  await pipeline(
    new Flow<Numbered>(async function* ({ resume }) {
      for (let n = Number(resume?.next ?? 0); n < committed + rest; n++)
        yield { items: [{ n }], cursor: { next: n + 1 } };
    }),
    sink(),
  );
  const text = await readFile(path.join(folder, 'all.jsonl'), 'utf8');
  const expected = Array.from({ length: committed + rest }, (_, n) => `${JSON.stringify({ n })}\n`);
  if (text !== expected.join('')) throw new Error(`Wrong lines: ${text.slice(-200)}`);
  return { hits: before > expected.join('').length ? 1 : 0 };
}
