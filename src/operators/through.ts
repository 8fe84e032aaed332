import { checkValue, required, special } from '../base/check.js';
import { hold } from '../flow/close-streams.js';
import type { Operator } from '../flow/flow.js';
import { isStageStream, type StageStream, streamStage } from '../flow/stream-stage.js';

const STREAM = required(
  special<StageStream<unknown, unknown>>(
    'the stream to pipe through',
    'a stream to pipe through: a Node Duplex, a TransformStream or a Minipass stream',
    isStageStream,
  ),
);

/**
 * Makes an operator of a Node `Transform` (or any `Duplex`), a `TransformStream` of the web or a
 * Minipass stream. `pipeline` takes such streams directly; use `through` to state the type of what
 * comes out.
 *
 * Cursors end here, as a stream does not pass them on. A stream can be used once, so a flow through it
 * can be read only once.
 *
 * @throws OptionError Immediately, if it is not such a stream.
 * @example
 * pipeline(source, through<Buffer, Buffer>(createBrotliDecompress()), jsonLines(), collect());
 */
export function through<In, Out>(stream: StageStream<In, Out>): Operator<In, Out> {
  checkValue('through', 'stream', STREAM, stream);
  return hold<Operator<In, Out>>(input => streamStage(input, stream), [stream]);
}
