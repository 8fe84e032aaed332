import { Duplex, Readable } from 'node:stream';
// A default import, because a named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { hold, useOnce } from './close-streams.js';
import { type Batches, batchesOf, type Flow, identityOf, OwnFlow, type Run } from './flow.js';
import { isMinipass, type MinipassStream, writeError, writeToStream } from './minipass-streams.js';
import { isWebTransform, type WebTransform, type WriteFailure, writeToWeb } from './web-streams.js';

/** A stream through which a flow can be piped. */
export type StageStream<In, Out> = Duplex | MinipassStream<In, Out> | WebTransform<In, Out>;

export function isStageStream(value: unknown): value is StageStream<unknown, unknown> {
  return value instanceof Duplex || isMinipass(value) || isWebTransform(value);
}

export function streamStage<In, Out>(
  input: AsyncIterable<In>,
  stream: StageStream<In, Out>,
): Flow<Out> {
  const open = (run: Run) => {
    useOnce(stream, isOver(stream));
    return isWebTransform(stream) ? pipedWeb(input, stream, run) : piped(input, stream, run);
  };
  const flow = new OwnFlow(open, { identity: identityOf(input, { step: 'through' }) });
  return hold(flow, [input, stream]);
}

function isOver(stream: StageStream<unknown, unknown>): boolean {
  const { destroyed, writableEnded } = stream as Partial<Duplex>;
  return destroyed === true || writableEnded === true;
}

async function* piped<In, Out>(
  input: AsyncIterable<In>,
  stream: Duplex | MinipassStream<In, Out>,
  run: Run,
): Batches<Out> {
  const { signal } = run;
  let failure: { readonly error: unknown } | undefined;
  async function* items(at: Run): Batches<In> {
    try {
      yield* batchesOf(input, { ...at, progress: run.progress, damaged: run.damaged });
    } catch (error) {
      if (!at.signal.aborted) failure = { error };
      throw error;
    }
  }
  // The stream reads `source` in a separate run, which has no progress and no `damaged`. `items` therefore
  // opens the input with those members of `run`.
  const source = new OwnFlow<In>(items, isMinipass(stream) ? { signal } : {});
  const readable = isMinipass(stream) ? undefined : Readable.from(source, { objectMode: true });
  const fed = isMinipass(stream)
    ? writeToStream(source, stream, { signal, untilEnded: false })
    : streams.pipeline(readable as Readable, stream as Duplex, { signal });
  // The reader gets a failure through the stream itself. `fed` must not report it a second time as an
  // unhandled rejection.
  fed.catch(() => {});
  try {
    yield* batchesOf(stream as AsyncIterable<Out>, { signal });
    // As in Node's own `pipeline`, a stream may end before its input does. In that case, `fed` rejects,
    // because the stream was destroyed while it was still written to. This is not an error.
    if ((stream as Partial<Duplex>).writableEnded === false) readable?.destroy();
    else await fed;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw writeError(error);
  } finally {
    stream.destroy();
  }
  if (failure !== undefined) throw failure.error;
}

async function* pipedWeb<In, Out>(
  input: AsyncIterable<In>,
  { readable, writable }: WebTransform<In, Out>,
  { signal, progress, damaged }: Run,
): Batches<Out> {
  const open = (signal: AbortSignal) =>
    new OwnFlow<In>(pull => batchesOf(input, { ...pull, progress, damaged }), { signal });
  const fed = writeToWeb(open, writable, signal);
  // If the input fails, the stream should fail with the same error. Some streams replace the error,
  // so the original error is kept here.
  let failure: WriteFailure | undefined;
  fed.then(
    result => {
      failure = result;
    },
    () => {},
  );
  try {
    yield* batchesOf(readable as unknown as AsyncIterable<Out>, { signal });
    await fed;
  } catch (error) {
    throw failure?.of === 'input' ? failure.error : error;
  }
  // If the input failed, throws its error even if the stream ended without an error.
  if (failure?.of === 'input') throw failure.error;
}
