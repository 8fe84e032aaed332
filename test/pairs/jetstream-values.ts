import type { ToJetStreamOptions } from '../../src/jetstream/index.js';
import type { Activity } from '../../src/post/activity.js';
import { type Conflict, type Domain, hasValues, type Row, type Rules } from './covering-rows.js';
import {
  calls,
  domainOf,
  flags,
  is,
  numbers,
  unset,
  type Values,
  type ValuesOfStages,
} from './values.js';

export const SERVER_DOMAIN = 'pairs';
export const TOPICS = ['even', 'odd'];
const MAX_BYTES = 1 << 20;

export const topicOf = (id: string): string | undefined => TOPICS[Number((BigInt(id) / 3n) % 3n)];

export const sentOf = (id: string) => `{"id":${id},"text":"sent"}`;

const created = (more: Partial<ToJetStreamOptions<Activity>['create']> = {}) =>
  is({ maxBytes: MAX_BYTES, shards: 2, ...more });

export interface MadeItem {
  readonly made: string;
}

/** The options that both JetStream calls have. run-jetstream-row.ts creates the connections. */
const connecting: Readonly<Record<string, Values>> = {
  connection: { 'a function': is(0), open: is(0) },
  domain: { ...unset, given: is(SERVER_DOMAIN) },
  apiPrefix: { ...unset, given: is(`$JS.${SERVER_DOMAIN}.API`) },
  maxOutageMs: numbers(60_000),
};

/**
 * The values to try for each option of `toJetStream` and `fromJetStream`. A test fails if an option
 * is missing here.
 */
export const JETSTREAM_VALUES: ValuesOfStages = {
  flow: {
    '(publishing)': { complete: is(0), abort: is(0), 'source fails': is(0), cut: is(0) },
    '(reading)': { complete: is(0), abort: is(0), cut: is(0) },
    '(sink)': { files: is(0), committed: is(0), 'no checkpoint': is(0) },
  },
  toJetStream: {
    ...connecting,
    topics: { ...unset, given: is(TOPICS) },
    topic: { ...unset, given: is(({ id }: Activity) => topicOf(id)) },
    name: { ...unset, given: ({ out }) => `${out}-publisher` },
    bucket: { ...unset, given: is('pairs') },
    create: {
      given: created(),
      'a shard': created({ shards: 1 }),
      'all settings': created({
        ...{ shards: 3, maxAgeMs: 3_600_000, replicas: 1, duplicateWindowMs: 1000 },
        discard: 'old',
      }),
      'in the first run': context => (context.run === 1 ? created()() : undefined),
    },
    maxInFlight: numbers(1, 3),
    commitIntervalMs: numbers(0),
    takeoverMs: numbers(2000),
    batch: {
      ...unset,
      'two posts': is({ posts: 2, waitMs: 5 }),
      'few bytes': is({ maxBytes: 300, waitMs: 5 }),
      gzip: is({ posts: 3, waitMs: 5, compression: 'gzip' }),
    },
    id: { ...unset, given: is(({ id }: Activity) => id) },
    // Only if `onDamaged` is given, the test's source also delivers a post without an id.
    onDamaged: calls('toJetStream.onDamaged'),
    payload: { ...unset, given: is(({ id }: Activity) => sentOf(id)) },
  },
  fromJetStream: {
    ...connecting,
    subject: {
      given: ({ out }) => out,
      'of a topic': ({ out }) => `${out}.${TOPICS[0]}`,
      ...unset,
    },
    subjects: {
      ...unset,
      all: ({ out }) => `${out}.>`,
      both: ({ out }) => [`${out}.0`, `${out}.1`],
    },
    waitForStream: flags,
    // The zeros are placeholders. run-jetstream-row.ts passes each half of the stream as `shard`,
    // and the last sequence as `until`.
    shard: { ...unset, halves: is(0) },
    until: { 'caught up': is('caught up'), 'a sequence': is(0), never: is('never'), ...unset },
    onGap: calls('fromJetStream.onGap'),
    item: {
      ...unset,
      given: is((payload: Buffer): MadeItem => ({ made: payload.toString() })),
    },
  },
};

/** Options that the tests do not vary. For example, `resume` always comes from the checkpoint. */
export const FIXED_OF_JETSTREAM: readonly string[] = [
  ...['toJetStream.stream', 'toJetStream.subject', 'fromJetStream.stream', 'fromJetStream.resume'],
];

export const JETSTREAM_OPTIONS: Domain = domainOf(JETSTREAM_VALUES);

/** Returns whether the reader ends only because `take` has received all items. */
export const endsByCount = (row: Row): boolean =>
  row['fromJetStream.until'] === 'never' || row['fromJetStream.until'] === 'not given';

/**
 * Checks both options for topics, because an incomplete row may have only one of them. A complete
 * row has both or neither.
 */
const mayHaveTopics = (row: Row, value: string): boolean =>
  row['toJetStream.topics'] === value || row['toJetStream.topic'] === value;

const CONFLICTS: readonly Conflict[] = [
  ...['toJetStream', 'fromJetStream'].map(
    (call): Conflict => ({
      reason: `${call}: a domain is a prefix`,
      holds: row => hasValues(row, [`${call}.domain=given`, `${call}.apiPrefix=given`]),
      refused: {
        row: { [`${call}.domain`]: 'given', [`${call}.apiPrefix`]: 'given' },
        option: 'apiPrefix',
      },
    }),
  ),
  {
    reason: 'topics need the topic of an item',
    holds: row => hasValues(row, ['toJetStream.topics=given', 'toJetStream.topic=not given']),
    refused: { row: { 'toJetStream.topics': 'given' }, option: 'topic' },
  },
  {
    reason: 'the topic of an item is one of the topics',
    holds: row => hasValues(row, ['toJetStream.topics=not given', 'toJetStream.topic=given']),
    refused: { row: { 'toJetStream.topic': 'given' }, option: 'topics' },
  },
  {
    reason: 'a reader has either a prefix or subjects',
    holds: row =>
      row['fromJetStream.subject'] !== undefined &&
      row['fromJetStream.subject'] !== 'not given' &&
      row['fromJetStream.subjects'] !== undefined &&
      row['fromJetStream.subjects'] !== 'not given',
    refused: { row: { 'fromJetStream.subjects': 'all' }, option: 'subject' },
  },
  {
    reason: 'a reader has a prefix or subjects',
    holds: row =>
      hasValues(row, ['fromJetStream.subject=not given', 'fromJetStream.subjects=not given']),
    refused: { row: { 'fromJetStream.subject': 'not given' }, option: 'subject' },
  },
  {
    reason: 'only with topics, the prefix of a stream is the one of a topic',
    holds: row =>
      (mayHaveTopics(row, 'given') && row['fromJetStream.subject'] === 'given') ||
      (mayHaveTopics(row, 'not given') && row['fromJetStream.subject'] === 'of a topic'),
  },
  {
    reason: 'two subjects are those of a stream of two shards, without topics',
    holds: row =>
      row['fromJetStream.subjects'] === 'both' &&
      (mayHaveTopics(row, 'given') ||
        row['toJetStream.create'] === 'a shard' ||
        row['toJetStream.create'] === 'all settings'),
  },
  ...(['toJetStream.create=a shard', 'fromJetStream.subjects=all'] as const).map(
    (value): Conflict => ({
      reason: `halves need two subjects: ${value}`,
      holds: row => hasValues(row, ['fromJetStream.shard=halves', value]),
    }),
  ),
  {
    reason: 'how many posts a half has is not known, so nothing ends it',
    holds: row => row['fromJetStream.shard'] === 'halves' && endsByCount(row),
  },
];

export const JETSTREAM_RULES: Rules = {
  always: ['flow', 'toJetStream', 'fromJetStream'],
  conflicts: CONFLICTS,
  alone: { values: [], others: [] },
};
