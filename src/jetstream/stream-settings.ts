import { crc32 } from 'node:zlib';
import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import {
  type Checked,
  checkOptions,
  milliseconds,
  type OptionTable,
  oneOf,
  optionError,
  required,
  whole,
} from '../base/check.js';
import type { JetStreamConnection } from './connection.js';
import { codeOf, isMissing, JetStreamError } from './jet-stream-errors.js';

export const MAX_SUBJECTS = 256;

/**
 * Returns the subjects of a stream, such as `posts.0` to `posts.7`. If there are several prefixes, returns
 * all subjects of the first prefix, then all subjects of the next.
 */
export function subjectsOf(prefixes: readonly string[], count: number): string[] {
  return prefixes.flatMap(one => Array.from({ length: count }, (_, index) => `${one}.${index}`));
}

/** The topic of items that belong to none of the topics in the option `topics`. */
const OTHER = 'other';

/**
 * Returns the prefixes of a stream's subjects. Without topics, this is only `posts`. With topics, there is
 * one prefix for each topic, such as `posts.en`, and `posts.other` at the end. Topics are sorted, because
 * positions are stored by the index of a subject. The order in the option may change between runs.
 */
export function prefixesOf(prefix: string, topics?: readonly string[]): string[] {
  if (topics === undefined) return [prefix];
  return [...topics.toSorted(), OTHER].map(topic => `${prefix}.${topic}`);
}

export function topicsProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isWord))
    return 'must be an array of words of letters, digits, `-` and `_`, such as languages';
  if (value.includes(OTHER)) return `must not have \`${OTHER}\`: it is that of all other items`;
  return new Set(value).size === value.length ? undefined : 'must not have a topic twice';
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value);
}

/**
 * Returns how many subjects have this prefix, such as 4 for `posts.0` to `posts.3`. If there are `topics`,
 * returns how many subjects each topic has. Returns `undefined` if there are none, if the numbers have gaps,
 * or if the topics do not have equally many subjects.
 */
export function countSubjects(
  prefix: string,
  subjects: readonly string[],
  topics?: readonly string[],
): number | undefined {
  const ours = new Set(subjects.filter(subject => subject.startsWith(`${prefix}.`)));
  const prefixes = prefixesOf(prefix, topics);
  const count = ours.size / prefixes.length;
  if (count < 1 || !Number.isInteger(count)) return undefined;
  return subjectsOf(prefixes, count).every(subject => ours.has(subject)) ? count : undefined;
}

/**
 * Returns the index of the subject for a post. It depends on a checksum of the post's id, so that all posts
 * with the same id are on one subject.
 *
 * @param count The number of subjects of all topics together.
 * @param topic The index of the post's topic in `topics`.
 */
export function subjectNumber(id: string, count: number, topic = 0, topics = 1): number {
  const each = count / topics;
  return topic * each + (crc32(id) % each);
}

/**
 * Checks the topics. Returns a function that returns the index of an item's topic, in the order of the
 * subjects.
 *
 * @throws OptionError
 */
export function checkTopics<T>(
  call: string,
  topics: readonly string[] | undefined,
  topic: ((item: T) => string | undefined) | undefined,
  shards = 1,
): ((item: T) => number) | undefined {
  if (topics === undefined && topic === undefined) return undefined;
  if (topics === undefined)
    throw optionError(call, 'topics', 'is missing: `topic` says of which of them an item is');
  if (topic === undefined)
    throw optionError(call, 'topic', 'is missing: it says which of `topics` an item is of');
  const subjects = (topics.length + 1) * shards;
  if (subjects > MAX_SUBJECTS)
    throw optionError(
      call,
      'topics',
      `are ${topics.length} and the others, with ${shards} subjects each: a stream has at most ${MAX_SUBJECTS}. Pass fewer, or fewer \`create.shards\``,
    );
  const numbers = new Map(topics.toSorted().map((name, number) => [name, number]));
  return item => numbers.get(topic(item) ?? '') ?? topics.length;
}

export function nameProblem(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
    ? undefined
    : 'must be 1 to 64 letters, digits, `-` and `_`';
}

export function prefixProblem(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}(\.[\w-]{1,64}){0,7}$/.test(value)
    ? undefined
    : 'must be words of letters, digits, `-` and `_` with dots between them, such as posts or acme.posts';
}

/**
 * Matches a subject, which consists of words separated by dots. `*` stands for any word, and `>` at the end
 * for any further words.
 */
const SUBJECT = /^(?:>|[^\s.*>\p{Cc}]+|\*)(?:(?<!>)\.(?:[^\s.*>\p{Cc}]+|\*|>))*$/u;

export function subjectsProblem(value: unknown): string | undefined {
  const subjects: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (subjects.length === 0 || !subjects.every(isSubject))
    return 'must be a subject such as posts.> or posts.*.en, or an array of them';
  for (const [number, subject] of subjects.entries())
    for (const other of subjects.slice(0, number))
      if (overlap(subject, other))
        return `must be subjects that have no message in common, and ${other} and ${subject} have`;
  return undefined;
}

function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 256 && SUBJECT.test(value);
}

/**
 * Whether a message could have a subject that matches both of these subjects, which may contain wildcards.
 */
function overlap(one: string, other: string): boolean {
  const [words, others] = [one.split('.'), other.split('.')];
  for (let index = 0; ; index++) {
    const [word, against] = [words[index], others[index]];
    if (word === undefined || against === undefined) return word === against;
    if (word === '>' || against === '>') return true;
    if (word !== against && word !== '*' && against !== '*') return false;
  }
}

/**
 * The option `create` of `toJetStream`: the settings of a new stream. The servers store the messages of the
 * stream in files.
 */
export interface CreateStreamOptions {
  /** The maximum size of the stream in bytes, on each replica; at least 1 MiB. */
  readonly maxBytes: number;
  /** The maximum age of a message in milliseconds. @default no limit */
  readonly maxAgeMs?: number | undefined;
  /** The number of servers that store each message. With 3, one server may be lost. @default 1 */
  readonly replicas?: 1 | 3 | 5 | undefined;
  /**
   * The number of subjects among which the posts are distributed. At most this many readers can read disjoint
   * shards.
   * @default 8
   */
  readonly shards?: number | undefined;
  /**
   * How long the servers remember message ids in order to drop duplicates, in milliseconds. @default 120000
   * (2 minutes), or `maxAgeMs` if that is shorter
   */
  readonly duplicateWindowMs?: number | undefined;
  /**
   * What happens when the stream reaches `maxBytes`. `new` refuses new messages, and the publisher waits.
   * `old` drops the oldest messages, and a reader that has not read them yet gets an `IncompleteError`.
   * @default 'new'
   */
  readonly discard?: 'new' | 'old' | undefined;
}

const CREATE_OPTIONS = {
  maxBytes: required(whole('the maximum size of the stream in bytes', { min: 1 << 20 })),
  maxAgeMs: whole('the maximum age of a message in milliseconds', { min: 1000 }),
  replicas: oneOf('how many servers store each message', [1, 3, 5], 1),
  shards: whole('how many subjects the posts are divided into', {
    min: 1,
    max: MAX_SUBJECTS,
    default: 8,
  }),
  duplicateWindowMs: milliseconds('how long the servers drop repeated messages', { min: 1000 }),
  discard: oneOf('what happens at maxBytes', ['new', 'old'], 'new'),
} satisfies OptionTable<CreateStreamOptions>;

export type CreateStream = Checked<CreateStreamOptions, typeof CREATE_OPTIONS> & {
  readonly duplicateWindowMs: number;
};

export function checkCreate(call: string, create: CreateStreamOptions): CreateStream {
  const checked = checkOptions(call, CREATE_OPTIONS, create, 'create');
  const { maxAgeMs = Number.POSITIVE_INFINITY, duplicateWindowMs = 120_000 } = checked;
  if (checked.duplicateWindowMs !== undefined && duplicateWindowMs > maxAgeMs)
    throw optionError(call, 'create.duplicateWindowMs', 'must not be longer than `maxAgeMs`');
  return { ...checked, duplicateWindowMs: Math.min(duplicateWindowMs, maxAgeMs) };
}

/** The properties of a stream, as read when it is opened. */
export interface OpenedStream {
  readonly name: string;
  /** When the stream was created. This distinguishes it from a later stream of the same name. */
  readonly created: string;
  readonly subjects: readonly string[];
  readonly replicas: number;
  readonly lastSequence: number;
}

/** The servers count in nanoseconds. */
export const NANOSECONDS = 1_000_000;

export interface PublishedStream {
  readonly stream: string;
  readonly subject: string;
  /** The topics that have separate subjects. Posts of all other topics share the topic `other`. */
  readonly topics?: readonly string[] | undefined;
  readonly create?: CreateStream | undefined;
}

/**
 * Finds the stream. If it does not exist, creates it with the settings of the option `create`.
 *
 * @throws JetStreamError if the stream does not exist and `create` is absent, or if the settings of the
 *   stream differ from those in `create`.
 */
export async function openStream(
  connection: JetStreamConnection,
  call: string,
  { stream, create, ...named }: PublishedStream,
): Promise<OpenedStream> {
  const { manager } = connection;
  const find = () =>
    connection.streamInfo(stream, {}, create === undefined ? undefined : isMissing);
  let info: StreamInfo;
  try {
    info = await find();
  } catch (error) {
    if (!isMissing(error) || create === undefined)
      throw connection.error(`find the stream ${stream}`, error);
    info = await connection
      .repeat(
        `create the stream ${stream}`,
        () => manager.streams.add({ name: stream, ...settingsOf(named, create) }),
        { isAnswer: isInUse },
      )
      // Another process may have created the stream since `find` was called.
      .catch(cause => (isInUse(cause) ? find() : Promise.reject(cause)));
  }
  return openedStream(call, info, named, create);
}

export interface ReadStream {
  readonly stream: string;
  /** The prefix of the subjects, if `toJetStream` fills the stream. */
  readonly subject: string | undefined;
  /** The subjects to read, if other programs fill the stream; otherwise `undefined`. */
  readonly subjects: readonly string[] | undefined;
  readonly waitForStream: boolean;
}

/**
 * Finds a stream to read.
 *
 * @throws JetStreamError if the stream does not exist, or does not have the subjects to read.
 */
export async function findStream(
  connection: JetStreamConnection,
  call: string,
  { stream, subject, subjects, waitForStream }: ReadStream,
): Promise<OpenedStream> {
  const info = waitForStream
    ? await connection.streamOnceMade(stream)
    : await connection.streamInfo(stream);
  if (subjects === undefined)
    return openedStream(call, info, { subject: subject ?? stream }, undefined);
  // The configuration of a mirror has no list of subjects.
  const { subjects: own = [] } = info.config;
  const others = subjects.filter(one => own.length > 0 && !own.some(other => overlap(one, other)));
  if (others.length > 0)
    throw differs(call, stream, [
      `it has no ${others.join(', ')}, its subjects are ${own.join(', ')}`,
    ]);
  // With any other retention policy, servers delete messages after they are read. Several readers
  // would then take messages away from each other.
  const { retention } = info.config;
  if (retention !== 'limits')
    throw differs(call, stream, [`retention is ${retention}, not limits`]);
  return streamOf(info, subjects);
}

type Named = Pick<PublishedStream, 'subject' | 'topics'>;

/** @throws JetStreamError if the settings of the stream differ from the requested settings */
function openedStream(
  call: string,
  info: StreamInfo,
  named: Named,
  create: CreateStream | undefined,
): OpenedStream {
  const { config } = info;
  const prefixes = prefixesOf(named.subject, named.topics);
  const count = countSubjects(named.subject, config.subjects, named.topics);
  if (count === undefined) {
    const wanted = prefixes.map(prefix => `${prefix}.0, ${prefix}.1 and so on`);
    throw differs(call, config.name, [
      `its subjects are ${config.subjects.join(', ')}, and must be ${wanted.join(', ')}`,
    ]);
  }
  const wanted: Partial<StreamConfig> = {
    retention: 'limits',
    ...(create !== undefined && settingsOf(named, create)),
  };
  const differences = Object.entries(wanted).flatMap(([name, value]) => {
    const is = config[name as keyof StreamConfig];
    return shown(is) === shown(value) ? [] : [`${name} is ${shown(is)}, not ${shown(value)}`];
  });
  if (differences.length > 0) throw differs(call, config.name, differences);
  return streamOf(info, subjectsOf(prefixes, count));
}

function streamOf(
  { config, created, state }: StreamInfo,
  subjects: readonly string[],
): OpenedStream {
  return {
    name: config.name,
    created,
    subjects,
    replicas: config.num_replicas,
    lastSequence: state.last_seq,
  };
}

function settingsOf(named: Named, create: CreateStream) {
  return {
    subjects: subjectsOf(prefixesOf(named.subject, named.topics), create.shards),
    storage: 'file',
    retention: 'limits',
    discard: create.discard,
    num_replicas: create.replicas,
    max_bytes: create.maxBytes,
    max_age: (create.maxAgeMs ?? 0) * NANOSECONDS,
    duplicate_window: create.duplicateWindowMs * NANOSECONDS,
    max_msgs: -1,
    max_msgs_per_subject: -1,
  } satisfies Partial<StreamConfig>;
}

function differs(call: string, stream: string, differences: readonly string[]): JetStreamError {
  return new JetStreamError(
    `${call}: the stream ${stream} has other settings than asked for: ${differences.join('; ')}. Pass the settings that it has, change it with \`nats stream edit\`, or use another stream`,
    { failure: 'stream' },
  );
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.toSorted().join(', ') : String(value);
}

/**
 * Whether the servers refuse to create a stream, because a stream of the same name has different settings.
 */
function isInUse(error: unknown): boolean {
  return codeOf(error) === 10058;
}
