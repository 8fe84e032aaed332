import type { Duplex } from 'node:stream';
import type { Operator } from '../flow/flow.js';
import type { MinipassStream } from '../flow/minipass-streams.js';
import { streamStage } from '../flow/stream-stage.js';

/**
 * Makes an operator of a Node `Transform` (or any `Duplex`) or of a Minipass stream. `pipeline` takes
 * such streams directly; use `through` to state the type of what comes out.
 *
 * Cursors end here, as a stream does not pass them on. A stream can be used once, so a flow through it
 * can be read only once.
 *
 * @example
 * pipeline(source, through<Buffer, Buffer>(createBrotliDecompress()), jsonLines(), collect());
 */
export function through<In, Out>(stream: Duplex | MinipassStream<In, Out>): Operator<In, Out> {
  return input => streamStage(input, stream);
}
