import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { expect } from 'vitest';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { fromJetStream, toJetStream } from '../../src/jetstream/index.js';
import type { DamagedRecord } from '../../src/json/records.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { Activity } from '../../src/post/activity.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { connecting } from '../jetstream/connecting.js';
import { type NatsNode, startNode } from '../jetstream/nats-server.js';
import { numberedPosts } from '../jetstream/numbered-posts.js';
import { StandIn } from '../sinks/stand-in.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import type { Row } from './covering-rows.js';
import {
  endsByCount,
  JETSTREAM_VALUES,
  type MadeItem,
  SERVER_DOMAIN,
  sentOf,
  TOPICS,
  topicOf,
} from './jetstream-values.js';
import { STOPPED_RUNS } from './suite-rows.js';
import { optionsIn } from './values.js';

const TOTAL = 130;
const BATCH = 10;
/** A run of the publisher is stopped before this post. */
const PUBLISHED = 40;
/**
 * A run of a reader is stopped after this many items. A reader first requests 16 messages
 * of up to 3 posts, which are at most 48 posts. After 50 posts, it has a cursor to resume from.
 */
const READ = 50;
const READ_OF_TOPIC = 20;
const STOPPED = new Error('stopped');
const MAX_RUNS = 4;
const DAMAGED = new Activity(Buffer.from('{"text":"no id"}'));

let node: NatsNode;
let shared: NatsConnection;
let manager: JetStreamManager;

export async function startJetStream(): Promise<void> {
  node = await startNode({ jetstream: `domain: ${SERVER_DOMAIN}` });
  shared = await connecting(node.url)();
  manager = await jetstreamManager(shared);
}

export async function stopJetStream(): Promise<void> {
  await shared.close();
  await node[Symbol.asyncDispose]();
}

class Reader {
  readonly shard: { readonly index: number; readonly of: number } | undefined;
  readonly file: string;
  readonly target = new StandIn<unknown>();
  runs = 0;

  constructor(folder: string, index?: number) {
    this.shard = index === undefined ? undefined : { index, of: 2 };
    this.file = path.join(folder, `part${index ?? ''}.jsonl`);
  }

  async items(row: Row): Promise<string[]> {
    if (row['flow.(sink)'] === 'committed')
      return this.target.rows.map(item =>
        item instanceof Activity ? item.raw.toString() : (item as MadeItem).made,
      );
    const lines = (await readFile(this.file, 'utf8')).split('\n').slice(0, -1);
    return row['fromJetStream.item'] === 'given'
      ? lines.map(line => (JSON.parse(line) as MadeItem).made)
      : lines;
  }
}

export class JetStreamRow {
  readonly row: Row;
  readonly seen = new Map<string, unknown[]>();
  readonly readers: readonly Reader[];
  isOpened = false;
  /** The name of the stream, which is also the prefix of its subjects. */
  readonly #name: string;
  readonly #opened: NatsConnection[] = [];
  #runs = 0;

  constructor(row: Row, name: string, folder: string) {
    this.row = row;
    this.#name = name;
    const isHalved = row['fromJetStream.shard'] === 'halves';
    this.readers = isHalved ? [1, 2].map(index => new Reader(folder, index)) : [new Reader(folder)];
  }

  get hasClosedOwn(): boolean {
    return this.#opened.every(connection => connection.isClosed()) && !shared.isClosed();
  }

  get connections(): number {
    return this.#opened.length;
  }

  publish(): Promise<unknown> {
    const run = ++this.#runs;
    const ending = new AbortController();
    const stop = async () => {
      const how = this.row['flow.(publishing)'];
      if (how === 'abort') ending.abort(STOPPED);
      if (how === 'source fails') throw STOPPED;
      if (how === 'cut') await this.#cut('toJetStream');
    };
    this.isOpened = false;
    const isOpened = () => {
      this.isOpened = true;
    };
    const damaged = this.row['toJetStream.onDamaged'] === 'given' ? [DAMAGED] : [];
    const source = new Flow<Activity>(
      async function* ({ resume, signal }) {
        isOpened();
        for (let from = Number(resume?.at ?? 0); from < TOTAL; from += BATCH) {
          if (run <= STOPPED_RUNS && from === PUBLISHED) await stop();
          signal.throwIfAborted();
          const to = Math.min(TOTAL, from + BATCH);
          const posts = numberedPosts(from, to);
          yield { items: from === BATCH ? [...posts, ...damaged] : posts, cursor: { at: to } };
        }
      },
      undefined,
      [{ step: 'numbers', total: TOTAL }],
    );
    const sink = toJetStream<Activity>(
      unchecked({
        ...{ stream: this.#name, subject: this.#name },
        ...this.#options('toJetStream', run),
      }),
    );
    return pipeline(source, sink, { signal: ending.signal, progress: 'off' });
  }

  async read(reader: Reader): Promise<unknown> {
    const run = ++reader.runs;
    const { row } = this;
    reader.target.revive();
    const ending = new AbortController();
    const how = row['flow.(reading)'];
    const stopAt = row['fromJetStream.subject'] === 'of a topic' ? READ_OF_TOPIC : READ;
    let count = 0;
    const stop = tap(async () => {
      if (run > STOPPED_RUNS || ++count !== stopAt) return;
      if (how === 'abort') ending.abort(STOPPED);
      if (how === 'cut') await this.#cut('fromJetStream');
    });
    const isBySequence = row['fromJetStream.until'] === 'a sequence';
    const last = isBySequence ? (await manager.streams.info(this.#name)).state.last_seq : 0;
    const source = fromJetStream(
      unchecked({
        stream: this.#name,
        ...this.#options('fromJetStream', run),
        ...(reader.shard !== undefined && { shard: reader.shard }),
        ...(isBySequence && { until: last }),
      }),
    );
    const all = endsByCount(row) ? [take(this.expected().length)] : [];
    return unchecked<(...args: unknown[]) => Promise<unknown>>(pipeline)(
      source,
      // `stop` comes before `take`, because `take` closes the connection once it has received
      // enough items.
      ...(how === 'complete' ? [] : [stop]),
      ...all,
      this.#sink(reader),
      { signal: ending.signal, progress: 'off' },
    );
  }

  #sink({ file, target }: Reader): unknown {
    switch (this.row['flow.(sink)']) {
      case 'committed':
        return committed({ ...target.transactions, rows: 5, waitMs: 0 });
      case 'files':
        return files({ path: file, checkpoint: `${file}.checkpoint`, commitIntervalMs: 0 });
      default:
        return files({ path: file });
    }
  }

  #options(call: string, run: number): Record<string, unknown> {
    const context = {
      ...{ out: this.#name, run },
      saw: (what: string, value: unknown) => {
        this.seen.set(what, [...(this.seen.get(what) ?? []), value]);
      },
    };
    const open = async () => {
      const connection = await connecting(node.url)();
      this.#opened.push(connection);
      return connection;
    };
    const connection = this.row[`${call}.connection`] === 'open' ? shared : open;
    return { ...optionsIn(this.row, call, JETSTREAM_VALUES, context), connection };
  }

  async #cut(call: string): Promise<void> {
    const isShared = this.row[`${call}.connection`] === 'open';
    await (isShared ? shared : this.#opened.at(-1))?.reconnect();
  }

  expected(): string[] {
    const { row } = this;
    const isSent = row['toJetStream.payload'] === 'given';
    return numberedPosts(0, TOTAL)
      .filter(
        ({ id }) => row['fromJetStream.subject'] !== 'of a topic' || topicOf(id) === TOPICS[0],
      )
      .map(({ id, raw }) => (isSent ? sentOf(id) : inOneLine(raw, row)));
  }
}

/**
 * Returns a post as the sink stores it. A sink of lines replaces each line feed in a post with a
 * space.
 */
function inOneLine(raw: Buffer, row: Row): string {
  const keeps = row['flow.(sink)'] === 'committed' || row['fromJetStream.item'] === 'given';
  return keeps ? raw.toString() : raw.toString().replaceAll('\n', ' ');
}

/**
 * Publishes posts with the options in `row` until a run completes, and then publishes once more.
 * Reads the posts until each reader completes, and compares the items. If there is a checkpoint,
 * reads once more and compares again.
 * @returns How many runs were stopped.
 */
export async function tryJetStreamRow(row: Row): Promise<number> {
  const folder = await temporaryFolder();
  try {
    return await tryIn(new JetStreamRow(row, `row-${++rowsRun}`, folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

let rowsRun = 0;

async function tryIn(run: JetStreamRow): Promise<number> {
  const { row, seen } = run;
  let stopped = 0;
  const onStop = () => stopped++;
  const published = await untilComplete(() => run.publish(), onStop);
  expect(published).toMatchObject({ posts: TOTAL });
  expect(await run.publish()).toEqual(published);
  expect(run.isOpened).toBe(false);
  for (const reader of run.readers) await untilComplete(() => run.read(reader), onStop);
  await checkItems(run);
  if (row['flow.(sink)'] !== 'no checkpoint') {
    for (const reader of run.readers) await run.read(reader);
    await checkItems(run);
  }
  expect(run.hasClosedOwn).toBe(true);
  expect(seen.get('fromJetStream.onGap')).toBeUndefined();
  const damaged = (seen.get('toJetStream.onDamaged') ?? []) as readonly DamagedRecord[];
  const isGiven = row['toJetStream.onDamaged'] === 'given';
  expect(new Set(damaged.map(({ raw }) => raw.toString()))).toEqual(
    new Set(isGiven ? [DAMAGED.raw.toString()] : []),
  );
  return stopped;
}

async function untilComplete(run: () => Promise<unknown>, onStop: () => unknown): Promise<unknown> {
  for (let runs = 0; ; runs++) {
    try {
      return await run();
    } catch (error) {
      if (error !== STOPPED || runs === MAX_RUNS) throw error;
      onStop();
    }
  }
}

async function checkItems(run: JetStreamRow): Promise<void> {
  const found = await Promise.all(run.readers.map(reader => reader.items(run.row)));
  expect(found.flat().toSorted()).toEqual(run.expected().toSorted());
}
