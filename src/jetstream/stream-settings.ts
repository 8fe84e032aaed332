import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { milliseconds, type OptionTable, oneOf, required, whole } from '../check.js';
import type { JetStreamConnection } from './connection.js';
import { codeOf, isMissing } from './failure.js';
import { JetStreamError } from './jet-stream-error.js';
import { countSubjects, MAX_SUBJECTS, subjectsOf } from './subjects.js';

/** The settings of a stream that `toJetStream` makes. It is stored in files, and kept until its limits. */
export interface CreateStreamOptions {
  /** The maximum size of the stream in bytes, on each replica; at least 1 MiB. */
  readonly maxBytes: number;
  /** The maximum age of a message in milliseconds. @default no limit */
  readonly maxAgeMs?: number | undefined;
  /** How many servers store each message; 3 survive the loss of one. @default 1 */
  readonly replicas?: 1 | 3 | 5 | undefined;
  /**
   * How many parts the posts are divided into, each with its own subject: the maximum number of readers that
   * take disjoint shares.
   * @default 8
   */
  readonly shares?: number | undefined;
  /** How long the servers drop a message whose id they have seen, in milliseconds. @default 120000 (2 minutes), or `maxAgeMs` */
  readonly duplicateWindowMs?: number | undefined;
  /**
   * What happens at `maxBytes`: `new` refuses new messages, so that the publisher waits; `old` drops the oldest
   * ones, and a reader that has not read them gets an `IncompleteError`.
   * @default 'new'
   */
  readonly discard?: 'new' | 'old' | undefined;
}

export const CREATE_OPTIONS = {
  maxBytes: required(whole('the maximum size of the stream in bytes', { min: 1 << 20 })),
  maxAgeMs: whole('the maximum age of a message in milliseconds', { min: 1000 }),
  replicas: oneOf('how many servers store each message', [1, 3, 5], 1),
  shares: whole('how many subjects the posts are divided into', {
    ...{ min: 1, max: MAX_SUBJECTS, default: 8 },
  }),
  duplicateWindowMs: milliseconds('how long the servers drop repeated messages', {
    min: 1000,
  }),
  discard: oneOf('what happens at maxBytes', ['new', 'old'], 'new'),
} satisfies OptionTable<CreateStreamOptions>;

/** `create` after the checks. */
export interface CreateStream {
  readonly maxBytes: number;
  readonly maxAgeMs: number | undefined;
  readonly replicas: 1 | 3 | 5;
  readonly shares: number;
  readonly duplicateWindowMs: number;
  readonly discard: 'new' | 'old';
}

/** A stream as it is now. */
export interface OpenedStream {
  readonly name: string;
  /** When it was made: another time means another stream of the same name. */
  readonly created: string;
  readonly subjects: readonly string[];
  readonly replicas: number;
  readonly duplicateWindowMs: number;
  readonly lastSequence: number;
}

/** Milliseconds in the unit of the servers. */
const NANOSECONDS = 1_000_000;

/**
 * Finds the stream, or makes it.
 *
 * @throws JetStreamError where it does not exist and `create` is absent, or it has other settings.
 */
export async function openStream(
  connection: JetStreamConnection,
  call: string,
  {
    stream,
    subject,
    create,
  }: {
    readonly stream: string;
    readonly subject: string;
    readonly create?: CreateStream | undefined;
  },
): Promise<OpenedStream> {
  const { manager } = connection;
  const find = () =>
    connection.streamInfo(stream, { isAnswer: create === undefined ? undefined : isMissing });
  let info: StreamInfo;
  try {
    info = await find();
  } catch (error) {
    if (!isMissing(error) || create === undefined)
      throw connection.error(`find the stream ${stream}`, error);
    info = await connection
      .repeat(
        `make the stream ${stream}`,
        () => manager.streams.add({ name: stream, ...settingsOf(subject, create) }),
        isInUse,
      )
      // Another process has made it meanwhile.
      .catch(cause => (isInUse(cause) ? find() : Promise.reject(cause)));
  }
  return checked(call, info, subject, create);
}

function checked(
  call: string,
  { config, created, state }: StreamInfo,
  subject: string,
  create: CreateStream | undefined,
): OpenedStream {
  const count = countSubjects(subject, config.subjects);
  if (count === undefined)
    throw differs(call, config.name, [
      `its subjects are ${config.subjects.join(', ')}, and must be ${subject}.0, ${subject}.1 and so on`,
    ]);
  const wanted: Partial<StreamConfig> = {
    retention: 'limits',
    ...(create !== undefined && settingsOf(subject, create)),
  };
  const differences = Object.entries(wanted).flatMap(([name, value]) => {
    const is = config[name as keyof StreamConfig];
    return shown(is) === shown(value) ? [] : [`${name} is ${shown(is)}, not ${shown(value)}`];
  });
  if (differences.length > 0) throw differs(call, config.name, differences);
  return {
    ...{ name: config.name, created, subjects: subjectsOf(subject, count) },
    replicas: config.num_replicas,
    duplicateWindowMs: config.duplicate_window / NANOSECONDS,
    lastSequence: state.last_seq,
  };
}

/** The settings as the servers call them. */
function settingsOf(subject: string, create: CreateStream) {
  return {
    subjects: subjectsOf(subject, create.shares),
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

/** Whether a stream of this name exists, with other settings. */
function isInUse(error: unknown): boolean {
  return codeOf(error) === 10058;
}
