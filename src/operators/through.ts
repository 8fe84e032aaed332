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
 * Creates an operator from a Node `Transform` (or any `Duplex`), a web `TransformStream` or a Minipass
 * stream. `pipeline` accepts such streams directly. Use `through` to declare the type of the output.
 *
 * The output has no cursors, because a stream does not forward them. A stream can be used only once, so a
 * flow through it can be read only once.
 *
 * @throws OptionError Immediately, if the argument is not such a stream.
 * @example
 * pipeline(source, through<Buffer, Buffer>(createBrotliDecompress()), jsonLines(), collect());
 */
export function through<In, Out>(stream: StageStream<In, Out>): Operator<In, Out> {
  checkValue('through', 'stream', STREAM, stream);
  return hold<Operator<In, Out>>(input => streamStage(input, stream), [stream]);
}
