import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Batches, batchesOf, Flow, type Operator, type Run } from '../flow.js';

/**
 * A Node `Transform` (or any `Duplex`) as an operator. `pipeline` does this by itself; use it where
 * the type of what comes out has to be said. The cursor ends here: a stream says nothing of places.
 * A Node stream runs once, so a flow through it can be opened only once.
 *
 * @example
 * pipeline(source, through<Buffer, Buffer>(createBrotliDecompress()), jsonLines(), collect());
 */
export function through<In, Out>(stream: Duplex): Operator<In, Out> {
  return input => new Flow(run => pump(input, stream, run));
}

async function* pump<In, Out>(input: AsyncIterable<In>, stream: Duplex, run: Run): Batches<Out> {
  const { signal } = run;
  // The feeder has a run of its own, so what only this pull knows is handed on.
  const source = new Flow<In>(at => batchesOf(input, { ...at, progress: run.progress }));
  const fed = pipeline(Readable.from(source, { objectMode: true }), stream, { signal });
  // The failure reaches the reader through the stream itself; `fed` alone must not end the process.
  fed.catch(() => {});
  try {
    for await (const item of stream) yield { items: [item as Out] };
    await fed;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error;
  } finally {
    stream.destroy();
  }
}
