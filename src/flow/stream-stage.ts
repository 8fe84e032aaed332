import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Batches, batchesOf, Flow, identityOf, type Run } from './flow.js';
import { isMinipass, type MinipassStream } from './minipass-streams.js';
import { writeToStream } from './write-to-stream.js';

/** Pipes a flow through a Node `Duplex` or a Minipass stream; see `through`. */
export function streamStage<In, Out>(
  input: AsyncIterable<In>,
  stream: Duplex | MinipassStream<In, Out>,
): Flow<Out> {
  return new Flow(
    run => piped(input, stream, run),
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
    : pipeline(Readable.from(source, { objectMode: true }), stream as Duplex, { signal });
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
