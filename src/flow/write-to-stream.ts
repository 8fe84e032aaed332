import type { EventEmitter } from 'node:events';
import { abortable } from '../base/abortable.js';
import { DataError, isNodeError } from '../base/errors.js';
import { WakeUp } from '../base/wait.js';
import { failureOf } from './held-streams.js';

/** A writable stream that is not one of Node's: of minipass, tar or fs-minipass. */
export interface StreamSink<In> {
  write(item: In): boolean;
  end(): unknown;
}

interface Emitter extends EventEmitter, StreamSink<unknown> {
  readonly promise?: () => Promise<void>;
  readonly destroyed?: boolean;
  readonly destroy?: (error?: unknown) => unknown;
  /** tar's parsers have this in place of `destroy`. */
  readonly abort?: (error: unknown) => unknown;
}

/** The error to throw for one of a Node stream that was written to: Node's message about `null` does not say what to do. */
export function writeError(error: unknown): unknown {
  if (!isNodeError(error, 'ERR_STREAM_NULL_VALUES')) return error;
  const advice = 'Leave it out before the stream: filter(item => item !== null)';
  return new DataError('A stream of Node takes no null, which means its end', {
    advice,
    cause: error,
  });
}

/**
 * Writes all items, waiting for `drain` where `write` returns false, and ends the stream. Resolves when
 * the stream has finished, or with `untilEnded: false`, once `end` is called. A failure of either side
 * destroys the stream.
 */
export async function writeToStream(
  input: AsyncIterable<unknown>,
  stream: Emitter,
  { signal, untilEnded = true }: { readonly signal: AbortSignal; readonly untilEnded?: boolean },
): Promise<void> {
  const failure = failureOf(stream);
  if (failure !== undefined) throw failure.error;
  if (stream.destroyed === true)
    throw new Error('The stream was destroyed before it was written to');
  let ending = false;
  const drained = new WakeUp();
  const onDrain = () => drained.wake();
  const finished = new Promise<void>((resolve, reject) => {
    // The error listener is never removed: a late error must not end the process.
    stream.on('error', reject);
    stream.promise?.().then(resolve, reject);
    const close = () => {
      if (ending) resolve();
      else reject(new Error('The stream was closed before all items were written'));
    };
    for (const event of ['finish', 'end', 'close']) stream.once(event, close);
  });
  finished.catch(() => {});
  stream.on('drain', onDrain);
  try {
    for await (const item of input) {
      // `drain` may be emitted during the write.
      const ready = drained.next();
      if (stream.write(item) === false) await abortable(Promise.race([ready, finished]), signal);
    }
    ending = true;
    stream.end();
    if (untilEnded) await abortable(finished, signal);
  } catch (error) {
    if (stream.destroy !== undefined) stream.destroy(error);
    else stream.abort?.(error);
    throw error;
  } finally {
    stream.off('drain', onDrain);
  }
}
