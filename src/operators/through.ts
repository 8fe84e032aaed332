import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type Batches,
  batchesOf,
  Flow,
  identityOf,
  type Operator,
  type Run,
} from '../flow/flow.js';
import { isMinipass, type MinipassStream } from '../flow/minipass-streams.js';
import { writeToStream } from '../flow/write-to-stream.js';

/**
 * A Node `Transform` (or any `Duplex`), or a Minipass stream, as an operator. `pipeline` does this by
 * itself; use it where the type of what comes out has to be said. The cursor ends here: a stream does
 * not know of cursors. A stream runs once, so a flow through it can be opened only once.
 *
 * @example
 * pipeline(source, through<Buffer, Buffer>(createBrotliDecompress()), jsonLines(), collect());
 */
export function through<In, Out>(stream: Duplex | MinipassStream<In, Out>): Operator<In, Out> {
  return input =>
    new Flow(run => pump(input, stream, run), undefined, identityOf(input, { step: 'through' }));
}

async function* pump<In, Out>(
  input: AsyncIterable<In>,
  stream: Duplex | MinipassStream<In, Out>,
  run: Run,
): Batches<Out> {
  const { signal } = run;
  // The feeder has a run of its own, so what only this pull knows is handed on.
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
