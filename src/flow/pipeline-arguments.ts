import { isWritable } from 'minipass';
import { isStrayPromise, isThenable } from '../base/abortable.js';
import { checkOptions, func, type OptionTable, signal, special } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { hold } from './close-streams.js';
import { batchesOf, Flow, identityOf, OwnFlow, type SinkRun } from './flow.js';
import { type Argument, type ComposedStages, internalsOf } from './internals.js';
import type { RunSummary } from './progress.js';
import type { ProgressDisplay } from './progress-display.js';
import { isStageStream, streamStage } from './stream-stage.js';
import { isWebReadable, isWebTransform, isWebWritable } from './web-streams.js';

/** The last argument of `pipeline`, after the sink: how to end the run early and how to show its progress. */
export interface PipelineOptions {
  /** Ends the run. `pipeline` closes all stages and rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How to show progress on stderr:
   *
   * - `'auto'` or `'bar'`: a bar if stderr is a terminal, otherwise lines;
   * - `'lines'`: a line every 5 s;
   * - `'json'`: a line of JSON every 5 s, for logs;
   * - `'off'`: nothing;
   * - a function, which is called with the counts about 4 times a second.
   *
   * @default 'off'
   */
  readonly progress?: ProgressDisplay | undefined;
  /**
   * Called with a summary of the run once the run has ended, whether it is complete or has failed. If it
   * returns a promise, the pipeline waits for it. If it throws, the pipeline rejects with that error, unless
   * the run itself has failed.
   */
  readonly onSummary?: ((summary: RunSummary) => unknown) | undefined;
}

export interface PipelineArguments {
  readonly source: AsyncIterable<unknown>;
  readonly stages: readonly Argument[];
  readonly sink: Argument;
  readonly options: PipelineOptions;
}

const DISPLAYS = ['auto', 'bar', 'lines', 'json', 'off'];
const OPTIONS = {
  signal: signal(),
  progress: special<ProgressDisplay>(
    'how to show what the run has done',
    "'auto', 'bar', 'lines', 'json', 'off' or a function",
    value => typeof value === 'function' || (typeof value === 'string' && DISPLAYS.includes(value)),
  ),
  onSummary: func<(summary: RunSummary) => unknown>('called once the run is over'),
} satisfies OptionTable<PipelineOptions>;

const END_WITH_SINK = 'End it with a sink such as `files(...)` or `collect()`';
const UNREAD = `Nothing would read what it makes. ${END_WITH_SINK}`;

/**
 * Splits the arguments of `pipeline` into source, stages, sink and options, and checks them. Does not call
 * stages that are functions, so it does not check what they return.
 *
 * @throws OptionError
 */
export function readArguments(args: readonly unknown[]): PipelineArguments {
  const values = [...args];
  // Callers may pass `undefined` for the options.
  while (values.length > 2 && values.at(-1) === undefined) values.pop();
  const given = (isPlainObject(values.at(-1)) ? values.pop() : {}) as PipelineOptions;
  const options = checkOptions('pipeline', OPTIONS, given);
  const [source, ...rest] = values.map((value, index) => ({ value, position: index + 1 }));
  const { value } = checkSource(source ?? { value: undefined, position: 1 });
  const sink = rest.pop();
  if (sink === undefined)
    throw new OptionError('sink', `\`pipeline\` has no sink. ${END_WITH_SINK}`);
  for (const stage of rest) checkStage(stage);
  checkSink(sink);
  return { source: value, stages: rest, sink, options };
}

/** @throws OptionError if the argument cannot be read as a source */
export function checkSource(source: Argument): { readonly value: AsyncIterable<unknown> } {
  const { value } = source;
  if (isWebReadable(value)) checkUnlocked('source', source, value);
  else if (!isAsyncIterable(value)) throw unfit('source', source, sourceHint(source));
  // Some web streams are not async iterable, but `batchesOf` reads every web stream through its reader.
  return { value: value as AsyncIterable<unknown> };
}

/**
 * Checks an argument between source and sink. If it is a function, `applyStage` later checks its result.
 *
 * @throws OptionError if the argument cannot be a stage
 */
export function checkStage(stage: Argument): void {
  const { value } = stage;
  if (typeof value !== 'function' && !isStageStream(value))
    throw unfit('stage', stage, stageHint(value));
  if (!isWebTransform(value)) return;
  checkUnlocked('stage', stage, value.readable);
  checkUnlocked('stage', stage, value.writable);
}

/**
 * Checks the last argument. If it is a function, `callSink` later checks its result.
 *
 * @throws OptionError if the argument cannot be a sink
 */
export function checkSink(sink: Argument): void {
  const { value } = sink;
  if (isWebWritable(value)) checkUnlocked('sink', sink, value);
  else if (typeof value !== 'function' && !isWritable(value))
    throw unfit('sink', sink, isWebTransform(value) ? UNREAD : END_WITH_SINK);
}

function checkUnlocked(place: Place, argument: Argument, stream: { readonly locked: boolean }) {
  if (stream.locked)
    throw unfit(place, argument, 'The stream is locked: other code already reads or writes it');
}

/**
 * Applies a stage to its input and returns the output.
 *
 * @throws OptionError if the stage is a function but not an operator.
 */
export function applyStage(input: AsyncIterable<unknown>, stage: Argument): AsyncIterable<unknown> {
  const { value } = stage;
  if (isStageStream(value)) return streamStage(input, value);
  const output = call('stage', stage, flowOf(input));
  if (isAsyncIterable(output)) return output;
  const returnedPromise = 'It returned a promise, as a sink does. Only the last may be a sink';
  if (isStrayPromise(output)) throw unfit('stage', stage, returnedPromise);
  throw unfit('stage', stage, notCalledHint(value, output, 'An operator returns a `Flow`'));
}

/** Returns the input as a `Flow`. Stages and sinks that are functions are always called with a `Flow`. */
export function flowOf(input: AsyncIterable<unknown>): Flow<unknown> {
  if (input instanceof Flow) return input;
  const flow = new OwnFlow(run => batchesOf(input, run), { identity: identityOf(input) });
  return hold(flow, [input]);
}

/**
 * Calls a sink.
 *
 * @throws OptionError if the value is a function but not a sink.
 */
export function callSink(sink: Argument, input: Flow<unknown>, run: SinkRun): PromiseLike<unknown> {
  const result = call('sink', sink, input, run);
  if (isThenable(result)) return result;
  if (isAsyncIterable(result))
    throw unfit('sink', sink, `It is an operator: it returned what can be read. ${END_WITH_SINK}`);
  throw unfit('sink', sink, notCalledHint(sink.value, result, 'A sink returns a promise'));
}

/** @throws OptionError if the argument can be neither a stage nor a sink */
export function checkLast(last: Argument): void {
  if (isStageStream(last.value)) checkStage(last);
  else checkSink(last);
}

export function composedOf(branch: Argument): ComposedStages {
  const { composed } = internalsOf(branch.value);
  if (composed === undefined) return { stages: [], last: branch };
  const { stages, last } = composedOf(composed.last);
  return { stages: [...composed.stages, ...stages], last };
}

/**
 * Calls the last function of `compose`, which is an operator or a sink. If `run` is given, passes it as the
 * second argument, as sinks expect.
 *
 * @throws OptionError if the function is neither an operator nor a sink.
 */
export function callLast(
  input: Flow<unknown>,
  last: Argument,
  run: SinkRun | undefined,
): AsyncIterable<unknown> | PromiseLike<unknown> {
  const result = call('stage', last, input, ...(run === undefined ? [] : [run]));
  if (isAsyncIterable(result) || isThenable(result)) return result;
  const expected = 'An operator returns a `Flow`, a sink a promise';
  throw unfit('stage', last, notCalledHint(last.value, result, expected));
}

/**
 * Calls a stage or sink. If a factory was passed without being called, such as `dedupe` without parentheses,
 * it reads the flow as its options and throws. The error then tells the user to call the factory.
 */
function call(place: Place, argument: Argument, ...given: readonly unknown[]): unknown {
  const value = argument.value as (...given: unknown[]) => unknown;
  try {
    return value(...given);
  } catch (error) {
    if (!(error instanceof OptionError) || value.name === '') throw error;
    const hint = `If it makes one, call it: \`${value.name}(...)\`. ${error.message}`;
    throw unfit(place, argument, hint, error);
  }
}

type Place = 'source' | 'stage' | 'sink';

const EXPECTED: Readonly<Record<Place, string>> = {
  source: 'a source',
  stage: 'an operator or a stream to pipe through',
  sink: 'a sink or a stream to write to',
};

function unfit(
  place: Place,
  { value, position, of = 'pipeline' }: Argument,
  hint: string,
  cause?: unknown,
): OptionError {
  return new OptionError(
    place,
    `Expected argument ${position} of \`${of}\` to be ${EXPECTED[place]}, got ${describe(value)}. ${hint}`,
    cause === undefined ? {} : { cause },
  );
}

function notCalledHint(value: unknown, result: unknown, expected: string): string {
  if (typeof result !== 'function') return `${expected}; this one returned ${describe(result)}`;
  return `It returned a function: call it, \`${nameOf(value) ?? 'it'}()\``;
}

function sourceHint({ value, of }: Argument): string {
  const takesSeveral = of === 'merge' || of === 'concat';
  if (takesSeveral && Array.isArray(value)) return `Spread the array: \`${of}(...sources)\``;
  if (tagOf(value) === 'GeneratorFunction')
    return `Call it, and wrap what it returns: \`Readable.from(${nameOf(value) ?? 'generate'}(...))\` of node:stream`;
  if (typeof value === 'function')
    return `Call it: \`${nameOf(value) ?? 'source'}(...)\` returns what can be read`;
  if (typeof value === 'object' && value !== null && Symbol.iterator in value)
    return 'Wrap it: `Readable.from(items)` of node:stream';
  return 'A source is a `Flow`, a stream to read, or anything else with `Symbol.asyncIterator`';
}

function stageHint(value: unknown): string {
  if (isWritable(value) || isWebWritable(value))
    return 'It can only be written to, so it can only be the last';
  if (isAsyncIterable(value) || isWebReadable(value))
    return 'It is a source, and only the first may be one';
  return 'Put stages between source and sink, and options last';
}

function describe(value: unknown): string {
  if (typeof value === 'function') {
    const name = nameOf(value);
    const kind = tagOf(value).endsWith('GeneratorFunction') ? 'generator function' : 'function';
    return name === undefined ? `a ${kind}` : `the ${kind} \`${name}\``;
  }
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return 'an array';
  // The sources and operators of this package return a subclass of `Flow`, whose name users do not know.
  if (value instanceof Flow) return 'a Flow';
  // The constructor of a generator object has no name.
  const name: unknown = value.constructor?.name || tagOf(value);
  if (name === 'Object' || typeof name !== 'string') return 'an object';
  return /^(?!U(?:RL|int))[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`;
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'function' && value.name !== '' ? value.name : undefined;
}

export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || isAsyncIterable(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
