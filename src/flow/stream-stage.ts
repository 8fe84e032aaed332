import { Duplex, Readable } from 'node:stream';
// A named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { OptionError } from '../errors.js';
import { type Batches, batchesOf, Flow, identityOf, type Run } from './flow.js';
import { isMinipass, type MinipassStream } from './minipass-streams.js';
import {
  isWebTransform,
  type WebTransform,
  type WriteFailure,
  webBatches,
  writeToWeb,
} from './web-streams.js';
import { writeToStream } from './write-to-stream.js';

/** What a flow can be piped through. */
export type StageStream<In, Out> = Duplex | MinipassStream<In, Out> | WebTransform<In, Out>;

export function isStageStream(value: unknown): value is StageStream<unknown, unknown> {
  return value instanceof Duplex || isMinipass(value) || isWebTransform(value);
}

/** Pipes a flow through a Node `Duplex`, a Minipass stream or a `TransformStream`; see `through`. */
export function streamStage<In, Out>(
  input: AsyncIterable<In>,
  stream: StageStream<In, Out>,
): Flow<Out> {
  return new Flow(
    run => (isWebTransform(stream) ? pipedWeb(input, stream, run) : piped(input, stream, run)),
    undefined,
    identityOf(input, { step: 'through' }),
  );
}

async function* piped<In, Out>(
  input: AsyncIterable<In>,
  stream: Duplex | MinipassStream<In, Out>,
  run: Run,
): Batches<Out> {
  const { signal } = run;
  // The input is pulled by the stream, in a run that would not have this run's progress.
  const source = new Flow<In>(
    at => batchesOf(input, { ...at, progress: run.progress }),
    isMinipass(stream) ? signal : undefined,
  );
  const fed = isMinipass(stream)
    ? writeToStream(source, stream, { signal, untilEnded: false })
    : streams.pipeline(Readable.from(source, { objectMode: true }), stream as Duplex, { signal });
  // The failure reaches the reader through the stream itself; `fed` alone must not end the process.
  fed.catch(() => {});
  try {
    yield* batchesOf(stream as AsyncIterable<Out>, { signal });
    await fed;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error;
  } finally {
    stream.destroy();
  }
}

/** Streams that were used. One that is closed would take nothing and end at once, as if all was done. */
const used = new WeakSet<object>();

async function* pipedWeb<In, Out>(
  input: AsyncIterable<In>,
  { readable, writable }: WebTransform<In, Out>,
  { signal, progress }: Run,
): Batches<Out> {
  if (used.has(writable))
    throw new OptionError('stage', 'The stream was used before. Make one for each run');
  used.add(writable);
  const open = (at: AbortSignal) =>
    new Flow<In>(pull => batchesOf(input, { ...pull, progress }), at);
  const fed = writeToWeb(open, writable, signal);
  // The stream passes a failure of the input on, but some streams replace it.
  let failure: WriteFailure | undefined;
  fed.then(
    result => {
      failure = result;
    },
    () => {},
  );
  try {
    yield* webBatches(readable, { signal });
    await fed;
  } catch (error) {
    throw failure?.of === 'input' ? failure.error : error;
  }
  // A stream may end before its input; that is not a failure.
  if (failure?.of === 'input') throw failure.error;
}
