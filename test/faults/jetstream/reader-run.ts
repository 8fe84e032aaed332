import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { JetStreamGap } from 'millrace/jetstream';
import type { Expected } from '../matrix/bare-client.js';
import { idOf } from '../matrix/bare-client.js';
import { mustBePart, mustEqual } from '../matrix/compare.js';
import { committedLines, postsOf, postsOfLines } from '../matrix/outputs.js';
import type { Counts, Trial } from '../part.js';
import { type TypedError, typedErrorOf } from '../typed-error-of.js';
import { type Libraries, type ReaderAttempt, readToFiles } from './reader.js';
import {
  type FilledStream,
  postsOfMessages,
  type StoredMessage,
  type StreamWorld,
  SUBJECTS,
} from './stream-world.js';
import { WireProxy } from './wire-proxy.js';

type Shard = { readonly index: number; readonly of: number };

export class ReaderRun {
  readonly world: StreamWorld;
  readonly stream: FilledStream;
  readonly proxy: WireProxy;
  readonly out: string;
  readonly shard: Shard | undefined;
  readonly messages: readonly StoredMessage[];
  readonly expected: Expected;
  readonly gaps: JetStreamGap[] = [];
  readonly dedupe: boolean;
  readonly #libraries: Libraries;
  readonly #signal: AbortSignal | undefined;
  #committed: ReadonlySet<string> = new Set();

  static async open(
    libraries: Libraries,
    { folder, signal }: Pick<Trial, 'folder'> & Partial<Pick<Trial, 'signal'>>,
    reading: Reading,
  ): Promise<ReaderRun> {
    const out = path.join(folder, 'out');
    await mkdir(out, { recursive: true });
    const proxy = await WireProxy.open(reading.world.node.port);
    return new ReaderRun(libraries, signal, reading, proxy, out);
  }

  private constructor(
    libraries: Libraries,
    signal: AbortSignal | undefined,
    { world, stream, shard, dedupe = false }: Reading,
    proxy: WireProxy,
    out: string,
  ) {
    this.#libraries = libraries;
    this.#signal = signal;
    this.world = world;
    this.stream = stream;
    this.shard = shard;
    this.dedupe = dedupe;
    this.proxy = proxy;
    this.out = out;
    this.messages = stream.messages.filter(({ subject }) => isInShard(subject, shard));
    this.expected = postsOfMessages(this.messages);
  }

  get options() {
    const { name } = this.stream;
    const connection = this.world.connecting(this.proxy.url);
    return { connection, stream: name, subject: name, shard: this.shard };
  }

  async run({ consume }: Pick<ReaderAttempt, 'consume'> = {}): Promise<void> {
    await readToFiles({
      ...this.#libraries,
      options: this.options,
      out: this.out,
      dedupe: this.dedupe,
      consume,
      onGap: gap => void this.gaps.push(gap),
      signal: this.#signal,
    });
  }

  error(attempt: Pick<ReaderAttempt, 'consume'> = {}): Promise<TypedError | undefined> {
    return typedErrorOf(this.#libraries.millrace, () => this.run(attempt));
  }

  /**
   * Checks that all committed posts are correct, and that no post that was committed at the last
   * check is missing. Resolves to the number of committed posts.
   */
  async mustBeExact(): Promise<number> {
    const found = postsOf(await committedLines(this.out));
    mustBePart(found, this.expected);
    const keys = new Set(found.map(([key]) => key));
    const gone = [...this.#committed].filter(key => !keys.has(key));
    if (gone.length > 0) throw new Error(`No longer committed: ${gone.slice(0, 5)}`);
    this.#committed = keys;
    return keys.size;
  }

  mustNotHave(messages: readonly StoredMessage[]): void {
    const found = messages.find(({ posts }) => posts.some(post => this.#committed.has(idOf(post))));
    if (found !== undefined) throw new Error(`Sequence ${found.seq} is committed`);
  }

  /**
   * Runs a script that resumes. Checks that the server does not send again any message that was
   * already committed.
   */
  async mustReadTheRest<T>(run: () => Promise<T>): Promise<T> {
    const before = this.proxy.delivered.length;
    const result = await run();
    const sent = new Set(this.proxy.delivered.slice(before));
    const again = this.messages.filter(
      ({ seq, posts }) =>
        sent.has(seq) && posts.length > 0 && posts.every(post => this.#committed.has(idOf(post))),
    );
    if (again.length > 0)
      throw new Error(`${again.length} messages were read again, from ${again[0]?.seq} on`);
    return result;
  }

  async mustBeComplete(lost: readonly number[] = []): Promise<Counts> {
    const found = await postsOfLines(this.out);
    mustEqual(found, this.expected);
    const named = new Set(this.gaps.flatMap(({ from, to }) => [from, to]));
    if (named.size !== lost.length || lost.some(seq => !named.has(seq)))
      throw new Error(`Gaps: ${JSON.stringify(this.gaps)}, and lost are ${lost}`);
    return { posts: found.length };
  }

  /**
   * Checks that the reported gaps are exactly the dropped messages that are not committed, and that
   * all other messages are committed. Resolves to the number of dropped messages.
   */
  async mustName(dropped: readonly StoredMessage[]): Promise<number> {
    const found = await postsOfLines(this.out);
    const keys = new Set(found.map(([key]) => key));
    const lost = dropped.filter(({ posts }) => posts.some(post => !keys.has(idOf(post))));
    const left = new Map(this.expected);
    for (const { posts } of lost) for (const post of posts) left.delete(idOf(post));
    mustEqual(found, left);
    const isNamed = (seq: number) => this.gaps.some(({ from, to }) => from <= seq && seq <= to);
    const wrong = this.messages.filter(message =>
      message.posts.length > 0 ? isNamed(message.seq) !== lost.includes(message) : false,
    );
    if (wrong.length > 0)
      throw new Error(`Gaps: ${JSON.stringify(this.gaps)}; wrong at sequence ${wrong[0]?.seq}`);
    return lost.length;
  }

  close(): Promise<void> {
    return this.proxy.close();
  }
}

export interface Reading {
  readonly world: StreamWorld;
  readonly stream: FilledStream;
  readonly shard?: Shard | undefined;
  readonly dedupe?: boolean | undefined;
}

function isInShard(subject: string, shard: Shard | undefined): boolean {
  const number = Number(subject.slice(subject.lastIndexOf('.') + 1));
  if (!(number < SUBJECTS)) throw new Error(`Not a subject of the stream: ${subject}`);
  return shard === undefined || number % shard.of === shard.index - 1;
}
