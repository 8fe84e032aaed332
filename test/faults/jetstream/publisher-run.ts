import { setImmediate } from 'node:timers/promises';
import type { Activity } from 'millrace';
import type { ToJetStreamOptions } from 'millrace/jetstream';
// This import is always the correct library, even if the tested library has a planted mistake.
import { fromJetStream } from '../../../src/jetstream/index.js';
import { type Expected, expectedPosts, hashOf, idOf } from '../matrix/bare-client.js';
import { mustBePart, mustEqual } from '../matrix/compare.js';
import type { Counts, Trial } from '../part.js';
import { type TypedError, typedErrorOf } from '../typed-error-of.js';
import type { Libraries } from './reader.js';
import type { StreamSetting } from './stream-setting.js';
import { BATCH, type StreamWorld } from './stream-world.js';
import { WireProxy } from './wire-proxy.js';

const TOGETHER = 20;

export interface Publishing {
  readonly world: StreamWorld;
  readonly records: readonly string[];
  readonly options?: Partial<ToJetStreamOptions<Activity>>;
  readonly dedupe?: boolean;
}

export interface PublisherAttempt {
  /** Returns the posts that the source delivers instead of a generated post. */
  readonly change?: (record: string, index: number) => readonly string[];
  readonly before?: (index: number) => Promise<void> | void;
}

export class PublisherRun {
  readonly name: string;
  readonly proxy: WireProxy;
  readonly expected: Expected;
  startedAt = 0;
  readonly #libraries: Libraries;
  readonly #publishing: Publishing;
  readonly #signal: AbortSignal | undefined;

  static async open(
    libraries: Libraries,
    publishing: Publishing,
    signal?: Trial['signal'],
  ): Promise<PublisherRun> {
    const proxy = await WireProxy.open(publishing.world.node.port);
    return new PublisherRun(libraries, publishing, proxy, signal);
  }

  private constructor(
    libraries: Libraries,
    publishing: Publishing,
    proxy: WireProxy,
    signal: AbortSignal | undefined,
  ) {
    this.#libraries = libraries;
    this.#publishing = publishing;
    this.#signal = signal;
    this.proxy = proxy;
    this.name = publishing.world.newName();
    this.expected = expectedPosts(publishing.records);
  }

  async run(attempt: PublisherAttempt = {}): Promise<void> {
    const { dedupe, filter, pipeline } = this.#libraries.millrace;
    const { world, options, dedupe: dedupes = false } = this.#publishing;
    await pipeline(
      this.#source(attempt),
      dedupes ? dedupe() : filter<Activity>(() => true),
      this.#libraries.jetstream.toJetStream({
        ...world.target(this.name),
        connection: world.connecting(this.proxy.url),
        commitIntervalMs: 10,
        maxOutageMs: 60_000,
        ...options,
      }),
      { signal: this.#signal },
    );
  }

  error(attempt: PublisherAttempt = {}): Promise<TypedError | undefined> {
    return typedErrorOf(this.#libraries.millrace, () => this.run(attempt));
  }

  async mustBeExact(): Promise<number> {
    const found = await this.#read();
    mustBePart(found, this.expected);
    for (const copy of await this.#stored()) mustBePart([copy], this.expected);
    return found.length;
  }

  async mustBeComplete(): Promise<Counts> {
    const found = await this.#read();
    mustEqual(found, this.expected);
    const copies = await this.#stored();
    for (const copy of copies) mustBePart([copy], this.expected);
    mustEqual([...new Map(copies)], this.expected);
    return { posts: found.length, copies: copies.length - found.length };
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.#publishing.world.remove(this.name);
  }

  async #read(): Promise<(readonly [string, string])[]> {
    const found: (readonly [string, string])[] = [];
    const { world } = this.#publishing;
    const { create: _, ...from } = world.target(this.name);
    for await (const { raw } of fromJetStream({ ...from, until: 'caught up' }))
      found.push([idOf(raw.toString()), hashOf(raw.toString())]);
    return found;
  }

  /**
   * Fetches the posts without the library. Returns each post as often as the stream contains it,
   * including duplicates that readers skip.
   */
  async #stored(): Promise<(readonly [string, string])[]> {
    const messages = await this.#publishing.world.stored(this.name);
    return messages.flatMap(({ posts }) => posts).map(post => [idOf(post), hashOf(post)] as const);
  }

  #source({ change = record => [record], before = () => {} }: PublisherAttempt) {
    const { Activity: Post, Flow } = this.#libraries.millrace;
    const { records } = this.#publishing;
    const startAt = (at: number) => {
      this.startedAt = at;
    };
    return new Flow<Activity>(
      async function* ({ resume }) {
        startAt(Number(resume?.at ?? 0));
        for (let from = Number(resume?.at ?? 0); from < records.length; from += TOGETHER) {
          const items: Activity[] = [];
          const to = Math.min(records.length, from + TOGETHER);
          for (let index = from; index < to; index++) {
            await before(index);
            for (const record of change(records[index] as string, index))
              items.push(new Post(Buffer.from(record)));
          }
          yield { items, cursor: { at: to } };
          await setImmediate();
        }
      },
      undefined,
      [{ step: 'records' }],
    );
  }
}

export const POSTS = 300;

export const SETTINGS = [
  { key: 'single', options: {} },
  { key: 'few in flight', options: { maxInFlight: 4 } },
  { key: 'batches', options: { batch: BATCH } },
] as const;

type Attempt = (run: PublisherRun, trial: Trial) => Promise<Counts>;

export async function publishes(
  setting: StreamSetting,
  trial: Trial,
  publishing: Omit<Publishing, 'records'> & Partial<Publishing>,
  attempt: Attempt,
): Promise<Counts> {
  const records = publishing.world.records.slice(0, POSTS);
  const run = await PublisherRun.open(setting.libraries, { records, ...publishing }, trial.signal);
  try {
    return await attempt(run, trial);
  } finally {
    await run.close();
  }
}
