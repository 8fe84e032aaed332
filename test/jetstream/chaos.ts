import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { JetStreamGap } from '../../src/jetstream/jet-stream-errors.js';
import { subjectNumber, subjectsOf } from '../../src/jetstream/stream-settings.js';
import { samplePosts } from '../../src/service/index.js';
import type { Random } from '../faults/random.js';
import { comparePosts, type PostCounts, readPosts } from './bare-reader.js';
import type { ConsumeWork, PublishWork } from './chaos-work.js';
import { type NatsCluster, type NatsNode, startCluster } from './nats-server.js';
import { RestartedScript } from './restarted-script.js';
import { RouteProxies } from './route-proxies.js';
import { SmallDisk } from './small-disk.js';

export type Fault =
  /** Kills the leader of the stream with SIGKILL. Restarts it after 0 to 3 s. */
  | 'leader'
  /** Kills the publisher with SIGKILL. Restarts it after 0 to 0.5 s. */
  | 'publisher'
  /** Kills one of the consumers with SIGKILL. Restarts it after 0 to 0.5 s. */
  | 'consumer'
  /** Pauses the leader for 0.5 to 6 s. Its connections stay open. */
  | 'freeze'
  /** Cuts the leader off from the other nodes for 1 to 8 s. Clients still reach it. */
  | 'partition'
  /**
   * Lets a node reach its `max_file_store`. Restarts the node with a larger limit after 1 to 4 s.
   */
  | 'limit'
  /** Fills the disk of a node (ENOSPC). Frees space and restarts the node after 1 to 4 s. */
  | 'disk';

export interface PostArchive {
  readonly folder: string;
  readonly posts: PostCounts;
}

/** The options of one run. A run has a new cluster, one publisher, two consumers and faults. */
export interface ChaosOptions {
  readonly faults: readonly Fault[];
  /** The maximum number of faults of each kind. @default 2 */
  readonly maxFaults?: number | undefined;
  readonly random: Random;
  readonly archive: PostArchive;
  readonly folder: string;
  /** The URL of the library's folder, ending in a slash. */
  readonly library: URL;
  /** Returns the path of the compiled JavaScript of a script in this folder. */
  readonly script: (name: string) => string;
  readonly signal: AbortSignal;
}

/**
 * These faults isolate a leader. After it rejoins, the replicas of nats-server 2.9 may stay
 * different, and acknowledged messages are then lost. The test expects that the consumers report
 * exactly the lost messages.
 */
const LOSING: readonly Fault[] = ['freeze', 'partition'];

export function mayLose(faults: readonly Fault[]): boolean {
  return faults.some(fault => LOSING.includes(fault));
}

const STREAM = 'posts';
const CONSUMERS = 2;
const SUBJECTS = 2 * CONSUMERS;
const PER_SECOND = 400;

export async function writeArchive(folder: string, minutes: number): Promise<PostArchive> {
  await mkdir(folder, { recursive: true });
  for (let minute = 0; minute < minutes; minute++) {
    const posts = samplePosts(Date.UTC(2024, 0, 1, 12, minute), { postsPerMinute: 100 });
    const text = posts.map(({ raw }) => `${raw}\n`).join('');
    const name = `${String(minute).padStart(4, '0')}.json.gz`;
    await writeFile(path.join(folder, name), gzipSync(text));
  }
  return { folder, posts: readPosts(folder) };
}

/**
 * Publishes an archive while faults happen, and consumes it in two shards. Compares all files that
 * the consumers write with the archive.
 *
 * @returns The number of events, by name. `hits` counts the faults that happened before the last
 * post was published.
 * @throws Error If posts are duplicated, altered, or lost without being reported as a gap, or if a
 * script fails.
 */
export async function chaos(options: ChaosOptions): Promise<Readonly<Record<string, number>>> {
  const { faults, random, archive, folder, signal } = options;
  await using proxies = new RouteProxies();
  await using disk = faults.includes('disk') ? await SmallDisk.mount(128) : undefined;
  const store = disk?.folder ?? path.join(folder, 'node');
  await mkdir(store, { recursive: true });
  const setLimit = (megabytes: number) =>
    writeFile(path.join(store, 'limits.conf'), `max_file_store: ${megabytes * 2 ** 20}\n`);
  await setLimit(faults.includes('limit') ? random.whole(1, 4) : 10_000);
  await using cluster = await startCluster({
    routePort: proxies.routePort,
    node: number =>
      number === 0
        ? { store, jetstream: 'include limits.conf' }
        : { jetstream: 'max_file_store: 10GB' },
  });
  await makeStream(cluster);
  const over = new AbortController();
  const scripts = { ...options, signal: AbortSignal.any([signal, over.signal]) };
  const run = new Run(scripts, cluster, proxies, { disk, setLimit });
  try {
    await run.untilConsumed();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    // Ends the scripts, which are still running if a check has failed.
    over.abort();
  }
  const written = readPosts(...run.outputs);
  const { lost, doubled, others } = comparePosts(archive.posts, written);
  const gaps = await run.gaps();
  const unnamed = mayLose(faults) ? unnamedPosts(archive.posts, written, gaps) : lost;
  if (unnamed + doubled + others > 0)
    throw new Error(
      `Of ${archive.posts.size} posts, ${lost} are lost, ${unnamed} of them not named, ${doubled} doubled, ${others} altered; ` +
        `gaps: ${JSON.stringify(gaps)}; the stream has ${await run.storedMessages()} messages; faults: ${JSON.stringify(run.counts)}`,
    );
  return {
    ...run.counts,
    posts: archive.posts.size,
    whole: lost === 0 ? 1 : 0,
    ...(lost > 0 && { named: lost }),
  };
}

/** Returns the number of lost posts that no reported gap covers. */
function unnamedPosts(
  expected: PostCounts,
  written: PostCounts,
  gaps: readonly JetStreamGap[],
): number {
  const named = new Map<string, number>();
  for (const { subject, publisher, from, to } of gaps)
    if (publisher !== undefined) named.set(subject, (named.get(subject) ?? 0) + to - from + 1);
  const lost = new Map<string, number>();
  for (const key of expected.keys()) {
    if (written.has(key)) continue;
    const [id = ''] = key.split(' ');
    const subject = `${STREAM}.${subjectNumber(id, SUBJECTS)}`;
    lost.set(subject, (lost.get(subject) ?? 0) + 1);
  }
  return [...lost].reduce(
    (sum, [subject, count]) => sum + Math.max(0, count - (named.get(subject) ?? 0)),
    0,
  );
}

/**
 * Creates the stream without `max_bytes`, because a node refuses a stream that may grow beyond its
 * `max_file_store`.
 */
async function makeStream(cluster: NatsCluster): Promise<void> {
  const config = {
    name: STREAM,
    subjects: subjectsOf([STREAM], SUBJECTS),
    num_replicas: 3,
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    duplicate_window: 120e9,
  };
  while ((await cluster.ask(`$JS.API.STREAM.INFO.${STREAM}`)).error !== undefined) {
    await cluster.ask(`$JS.API.STREAM.CREATE.${STREAM}`, config);
    await wait(50);
  }
}

class Run {
  readonly counts: Record<string, number> = { hits: 0 };
  readonly outputs: readonly string[];
  readonly #options: ChaosOptions;
  readonly #cluster: NatsCluster;
  readonly #proxies: RouteProxies;
  readonly #disk: SmallDisk | undefined;
  readonly #setLimit: (megabytes: number) => Promise<void>;
  readonly #published = new AbortController();
  readonly #publisher: RestartedScript;
  #consumers: readonly RestartedScript[] = [];
  /**
   * Faults wait for this promise, so that they hit one node at a time. The cluster stops if two of
   * its three nodes are down.
   */
  #nodeIsFree: Promise<unknown> = Promise.resolve();

  constructor(
    options: ChaosOptions,
    cluster: NatsCluster,
    proxies: RouteProxies,
    node: { disk: SmallDisk | undefined; setLimit: (megabytes: number) => Promise<void> },
  ) {
    this.#options = options;
    this.#cluster = cluster;
    this.#proxies = proxies;
    this.#disk = node.disk;
    this.#setLimit = node.setLimit;
    this.outputs = Array.from({ length: CONSUMERS }, (_, index) =>
      path.join(options.folder, `shard-${index + 1}`),
    );
    const { archive, library, script } = options;
    const work: PublishWork = {
      library: library.href,
      archive: archive.folder,
      perSecond: PER_SECOND,
      servers: cluster.urls,
      options: {
        stream: STREAM,
        subject: STREAM,
        takeoverMs: 2_000,
        commitIntervalMs: 100,
      },
    };
    this.#publisher = new RestartedScript(
      script('posts-to-jetstream'),
      work,
      this.#pauseMs,
      options.signal,
    );
  }

  async untilConsumed(): Promise<void> {
    await this.#leader();
    this.#consumers = this.#startConsumers('never');
    const faults = this.#options.faults.map(fault => this.#injectAgainAndAgain(fault));
    try {
      // A consumer must not end before the publisher, so an early end is a failure.
      await Promise.race([
        this.#publisher.ended,
        ...this.#consumers.map(async ({ ended }) => {
          throw new Error(`A consumer ended: ${await ended}`);
        }),
        ...faults.map(async fault => {
          await fault;
          await this.#publisher.ended;
        }),
      ]);
    } finally {
      this.#published.abort();
    }
    await Promise.all(faults);
    await Promise.all(this.#consumers.map(consumer => consumer.stop()));
    // These consumers continue from the checkpoints, and end when they have read all messages.
    const last = this.#startConsumers('caught up');
    await Promise.all(last.map(({ ended }) => ended));
    this.#options.signal.throwIfAborted();
  }

  /** Returns each reported gap once. A consumer that was killed may have reported a gap twice. */
  async gaps(): Promise<readonly JetStreamGap[]> {
    const files = this.outputs.map(out => readFile(gapsOf(out), 'utf8').catch(() => ''));
    const lines = (await Promise.all(files)).join('').split('\n');
    return [...new Set(lines)].filter(line => line !== '').map(line => JSON.parse(line));
  }

  async storedMessages(): Promise<number | undefined> {
    const { state } = (await this.#cluster.ask(`$JS.API.STREAM.INFO.${STREAM}`)) as {
      readonly state?: { readonly messages: number };
    };
    return state?.messages;
  }

  #startConsumers(until: 'never' | 'caught up'): readonly RestartedScript[] {
    return this.outputs.map((out, index) => {
      const work: ConsumeWork = {
        library: this.#options.library.href,
        out,
        gaps: gapsOf(out),
        servers: this.#cluster.urls,
        options: {
          stream: STREAM,
          subject: STREAM,
          shard: { index: index + 1, of: CONSUMERS },
          until,
        },
      };
      const { script, signal } = this.#options;
      return new RestartedScript(script('jetstream-to-files'), work, this.#pauseMs, signal);
    });
  }

  readonly #pauseMs = () => this.#options.random.whole(0, 500);

  async #injectAgainAndAgain(fault: Fault): Promise<void> {
    const { random, maxFaults = 2, signal } = this.#options;
    const ended = AbortSignal.any([this.#published.signal, signal]);
    for (let times = 0; times < maxFaults; times++) {
      try {
        await wait(random.whole(100, 2_500), undefined, { signal: ended });
      } catch {
        return;
      }
      await this.#inject(fault);
    }
  }

  async #inject(fault: Fault): Promise<void> {
    const { random } = this.#options;
    switch (fault) {
      case 'publisher':
        if (this.#publisher.signal('SIGKILL')) this.#count(fault);
        return;
      case 'consumer':
        if (random.pick(this.#consumers).signal('SIGKILL')) this.#count(fault);
        return;
      case 'leader':
        return this.#onNode(fault, async () => {
          const node = await this.#leader();
          await node.kill();
          await wait(random.whole(0, 3_000));
          await node.start();
        });
      case 'freeze':
        return this.#onNode(fault, async () => {
          const node = await this.#leader();
          node.pause();
          await wait(random.whole(500, 6_000));
          node.resume();
        });
      case 'partition':
        return this.#onNode(fault, async () => {
          const node = await this.#leader();
          this.#proxies.cutOff(
            this.#cluster.nodes.indexOf(node),
            random.pick(['silent', 'reset'] as const),
          );
          await wait(random.whole(1_000, 8_000));
          this.#proxies.heal();
        });
      case 'disk':
        return this.#onNode(fault, async () => {
          await this.#disk?.fill();
          await wait(random.whole(1_000, 4_000));
          await this.#disk?.free();
          await this.#restart(this.#cluster.nodes[0]);
        });
      case 'limit':
        return this.#onNode(fault, async () => {
          await wait(random.whole(1_000, 4_000));
          await this.#setLimit(random.whole(4, 8));
          await this.#restart(this.#cluster.nodes[0]);
        });
    }
  }

  async #restart(node: NatsNode | undefined): Promise<void> {
    await node?.kill();
    await node?.start();
  }

  async #onNode(fault: Fault, work: () => Promise<void>): Promise<void> {
    const turn = this.#nodeIsFree.then(async () => {
      if (this.#published.signal.aborted) return;
      this.#count(fault);
      await work();
    });
    this.#nodeIsFree = turn.catch(() => {});
    return turn;
  }

  #count(fault: Fault): void {
    this.counts[fault] = (this.counts[fault] ?? 0) + 1;
    this.counts.hits = (this.counts.hits ?? 0) + 1;
  }

  async #leader(): Promise<NatsNode> {
    while (true) {
      this.#options.signal.throwIfAborted();
      const { cluster } = (await this.#cluster.ask(`$JS.API.STREAM.INFO.${STREAM}`)) as {
        readonly cluster?: { readonly leader?: string };
      };
      const node = this.#cluster.nodes.find(({ name }) => name === cluster?.leader);
      if (node?.isRunning === true) return node;
      await wait(50);
    }
  }
}

function gapsOf(out: string): string {
  return `${out}-gaps.jsonl`;
}
