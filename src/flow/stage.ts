import type { Duplex, Writable } from 'node:stream';
import type { Bytes, JsonRecord } from '../json/records.js';
import type { Activity } from '../post/activity.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import type { Flow, Operator, Sink, SinkRun } from './flow.js';
import type { MinipassStream, StreamSink } from './minipass-streams.js';
import type { PipelineOptions } from './pipeline-arguments.js';
import type { StageStream } from './stream-stage.js';
import type { WebReadable, WebTransform, WebWritable } from './web-streams.js';

/**
 * A stage between a source and a sink: an operator, an `async function*` over the items, a Node `Transform`,
 * a `TransformStream` of the web or a Minipass stream. The compiler does not know the output type of a Node
 * `Transform`, so any stage may follow it.
 *
 * @example
 * async function* pairs(posts: AsyncIterable<Activity>): AsyncGenerator<[Activity, Activity]> {
 *   let last: Activity | undefined;
 *   for await (const post of posts) {
 *     if (last !== undefined) yield [last, post];
 *     last = post;
 *   }
 * }
 * await pipeline(source, pairs, collect());
 */
export type Stage<In, Out> =
  | ((input: AsyncIterable<In>) => AsyncIterable<Out>)
  | StageStream<In, Out>;

/**
 * Anything that `for await` can read: a `Flow`, a Node `Readable`, a `ReadableStream` of the web, a Minipass
 * stream or an async generator.
 */
export type Source<T> = AsyncIterable<T> | WebReadable<T>;

/**
 * A stream to write to: a Node `Writable`, a `WritableStream` of the web, or a stream of minipass, tar or
 * fs-minipass, which has `write`, `end` and events.
 */
export type WritableSink<In> = Writable | WebWritable<In> | StreamSink<In>;

export type ItemOf<From> =
  From extends AsyncIterable<infer Item>
    ? Item
    : From extends WebReadable<infer Item>
      ? Item
      : never;

// `pipeline` and `compose` have one type parameter for each argument. Each argument is checked with
// one of the types below. If the argument fits, the result is a union of the argument's type and a
// general type. From the general type, the compiler infers the parameters of functions such as
// `filter(post => post.lang)`. If the argument does not fit, the result is a sentence, which the
// compiler shows as the error at that argument. `never` means that the compiler has not seen the
// argument yet.

export type SourceArgument<From> = [From] extends [Source<unknown>]
  ? From | Source<unknown>
  : [From] extends [Callable]
    ? 'Call it: a source is what it returns'
    : 'A source is a Flow, a stream to read, or anything else with Symbol.asyncIterator: wrap items by Readable.from(items)';

export type StageArgument<In, S> = [S] extends [StageFor<Fed<In>>]
  ? S | StageFor<Read<In>>
  : [S] extends [AnySink]
    ? 'A sink can only be the last stage'
    : WrongStage<In, S>;

/**
 * The type of the last argument of a call that cannot have options, which is a sink. For anything else, it is
 * the text of the compiler's error.
 */
export type SinkArgument<In, S> = [S] extends [SinkFor<Fed<In>>]
  ? S | SinkFor<Read<In>>
  : [S] extends [AnyStage]
    ? 'Nothing reads what it makes: put a sink after it, such as files() or collect()'
    : WrongStage<In, S>;

/** The argument before the last one: an operator, or a sink if the last argument is options. */
export type EitherArgument<In, S> = [S] extends [EitherFor<Fed<In>>]
  ? S | EitherFor<Read<In>>
  : WrongStage<In, S>;

/**
 * The last argument: a sink, or options that follow a sink. `Before` is the type of the argument before it.
 */
export type LastArgument<Before, Last> = [Last] extends [never]
  ? SinkFor<Read<OutputOf<Before>>> | PipelineOptions
  : [Last] extends [Callable | AnySink]
    ? [Before] extends [AnyStage]
      ? SinkArgument<OutputOf<Before>, Last>
      : 'The argument before it is a sink: only options may follow'
    : [Before] extends [AnySink]
      ? PipelineOptions | undefined
      : 'There is no sink: put one before the options, such as files() or collect()';

export type ResultOf<Before, Last> = [Last] extends [Callable | AnySink]
  ? SinkResult<Last>
  : SinkResult<Before>;

/** The type of the result of a sink. Streams have no result. */
export type SinkResult<S> = S extends (...args: never) => PromiseLike<infer Result>
  ? Result
  : Awaited<ReturnType<Sink<never>>>;

/** The type that `compose` returns: a sink if its last argument is a sink, otherwise an operator. */
export type Composed<In, Last> = [Last] extends [AnyStage]
  ? Operator<In, Read<OutputOf<Last>>>
  : Sink<In, SinkResult<Last>>;

export type OutputOf<S> = [S] extends [Duplex]
  ? Untyped
  : S extends (...args: never) => AsyncIterable<infer Out>
    ? Out
    : S extends WebTransform<never, infer Out>
      ? Out
      : S extends MinipassStream<never, infer Out>
        ? Out
        : never;

/** Stands for the output of a Node `Duplex`, whose type does not declare the output. */
interface Untyped {
  readonly [untyped]: true;
}
declare const untyped: unique symbol;

/**
 * The item type from which the compiler infers the parameter of a function argument. After a Node `Duplex`,
 * it is `unknown`.
 */
type Read<In> = [In] extends [Untyped] ? unknown : In;

/**
 * The item type that an argument must accept. After a Node `Duplex`, it is `never`, which every
 * stage accepts.
 */
type Fed<In> = [In] extends [Untyped] ? never : In;

export type Callable = (...args: never) => unknown;

type StageFor<In> =
  | ((input: AsyncIterable<In>) => AsyncIterable<unknown>)
  | StageStream<In, unknown>;

type SinkFor<In> = ((input: Flow<In>, run: SinkRun) => Promise<unknown>) | WritableSink<In>;

/**
 * An operator or a sink. The functions of both have a single type here. From a union of two function types
 * with different parameters, the compiler would not infer the parameter types of `async posts => …`.
 */
type EitherFor<In> =
  | ((input: Flow<In>, run: SinkRun) => AsyncIterable<unknown> | Promise<unknown>)
  | StageStream<In, unknown>
  | WritableSink<In>;

type AnyStage = ((input: never) => AsyncIterable<unknown>) | StageStream<never, unknown>;
export type AnySink = ((input: never, run: never) => Promise<unknown>) | WritableSink<never>;

type WrongStage<In, S> = [S] extends [(...args: never) => Callable]
  ? 'Call it: the stage is what it returns'
  : [S] extends [Callable | AnyStage | AnySink]
    ? Misfit<Read<In>, InputOf<S>>
    : 'This is not a stage: an operator is a function, or a stream to pipe through';

export type InputOf<S> = S extends (input: infer Input, ...rest: never) => unknown
  ? ItemOf<Input>
  : S extends WebTransform<infer In, unknown>
    ? In
    : S extends WritableSink<infer In>
      ? In
      : never;

/**
 * The type that a parameter gets if a stage cannot read the items of the stage before it. The compiler shows
 * this type as one line that tells which stage to insert. At run time, `wrongItem` gives the same advice.
 */
export type Misfit<Given, Wanted> = [Given] extends [PromiseLike<unknown>]
  ? 'It gets promises: put mapAsync() in the place of the map() before it'
  : [Wanted] extends [JsonRecord]
    ? Sentence<'JSON records', Given, RecordAdvice<Given>>
    : [Wanted] extends [Bytes]
      ? Sentence<'bytes', Given, BytesAdvice<Given>>
      : [Wanted] extends [PostLike]
        ? Sentence<'posts', Given, PostAdvice<Given, Wanted>>
        : [Wanted] extends [{ readonly timePeriod: string }]
          ? Sentence<'buckets of counts', Given, 'take them from counts()'>
          : [Wanted] extends [ComplianceEvent]
            ? Sentence<'compliance events', Given, EventAdvice<Given>>
            : StageThatReads<Given>;

type PostLike = Activity | { readonly activity: Activity };

type Sentence<
  Reads extends string,
  Given,
  Advice extends string,
> = `It reads ${Reads}, but gets ${ItemName<Given>}: ${Advice}`;

/**
 * The name of an item type in the compiler's messages. A union gets a name only if the name fits all of its
 * members. Otherwise, the union is called `other items`.
 */
type ItemName<Given> = [Given] extends [JsonRecord]
  ? 'JSON records'
  : [Given] extends [Uint8Array]
    ? 'bytes'
    : [Given] extends [string]
      ? 'strings'
      : [Given] extends [Activity]
        ? 'posts'
        : [Given] extends [readonly unknown[]]
          ? 'arrays'
          : [Given] extends [PromiseLike<unknown>]
            ? 'promises'
            : [Given] extends [{ readonly activity: Activity; readonly tag: string }]
              ? 'posts with a tag'
              : [Given] extends [{ readonly activity: Activity }]
                ? 'objects with a post'
                : [Given] extends [{ readonly timePeriod: string }]
                  ? 'buckets of counts'
                  : [Given] extends [ComplianceEvent]
                    ? 'compliance events'
                    : 'other items';

type RecordAdvice<Given> = [Given] extends [Uint8Array]
  ? 'put jsonLines() before it'
  : [Given] extends [string]
    ? 'read bytes, not text, and put jsonLines() before it'
    : 'put it after jsonLines(), or leave it out';

type BytesAdvice<Given> = [Given] extends [string]
  ? 'set no encoding'
  : [Given] extends [JsonRecord]
    ? 'put it before jsonLines(), or leave it out'
    : 'put it before the stages that parse them, or leave it out';

type EventAdvice<Given> = [Given] extends [JsonRecord]
  ? 'put map(parseComplianceEvent) before it'
  : 'take them from compliance()';

type PostAdvice<Given, Wanted> = [Given] extends [JsonRecord]
  ? 'put activities() before it'
  : [Given] extends [Uint8Array]
    ? 'put jsonLines(), activities() before it'
    : [Given] extends [string]
      ? `read bytes, not text, and put jsonLines(), activities() before it${OrColumns<Wanted>}`
      : [Given] extends [PromiseLike<unknown>]
        ? 'put mapAsync() in the place of the map() before it'
        : [Given] extends [readonly unknown[]]
          ? `put it before chunk()${OrColumns<Wanted>}`
          : [Given] extends [{ readonly activity: Activity; readonly tag: string }]
            ? 'put it before routeByTag(), or map(({ activity }) => activity) before it'
            : [Given] extends [{ readonly activity: Activity }]
              ? 'put map(({ activity }) => activity) before it'
              : [Given] extends [{ readonly timePeriod: string }]
                ? `take them from search()${OrColumns<Wanted, 'tables.counts'>}`
                : [Given] extends [ComplianceEvent]
                  ? `take them from search()${OrColumns<Wanted, 'tables.complianceEvents'>}`
                  : `map them to posts${OrColumns<Wanted>}`;

/**
 * Adds advice about the option `columns` of `csv` and `parquet`. Without this option, both sinks accept
 * posts, and items that hold a post. For other items, they need it.
 */
type OrColumns<Wanted, Table extends string = 'columns of these items'> = [Wanted] extends [
  Activity,
]
  ? ''
  : `, or pass columns: ${Table}`;

/**
 * The compiler names this type in its error if a stage cannot read items of the type `Items`. No stage has
 * the optional member `items`, so the error is one line that shows both types.
 */
interface StageThatReads<Items> {
  readonly items?: Items;
}
