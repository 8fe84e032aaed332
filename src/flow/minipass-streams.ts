import { EventEmitter } from 'node:events';
import { abortable } from '../base/abortable.js';
import { Channel } from '../base/channel.js';
import { DataError, isNodeError } from '../base/errors.js';
import { WakeUp } from '../base/wait.js';
import { failureOf } from './close-streams.js';
import type { Progress } from './progress.js';

/**
 * A stream of minipass, in any version, or of a package that builds on minipass (minizlib, tar, fs-minipass).
 * It accepts items of type `In` and delivers items of type `Out`.
 */
export interface MinipassStream<In, Out> extends AsyncIterable<Out> {
  /** The number of bytes or items in the stream's buffer. Node streams have no such property. */
  readonly bufferLength: number;
  readonly destroyed: boolean;
  write(item: In): boolean;
  end(): unknown;
  pause(): void;
  resume(): void;
  destroy(error?: unknown): unknown;
  /** Settles when the stream ends, fails or is destroyed. */
  promise(): Promise<void>;
}

/** When this many items are unread, the stream is paused. Node's object mode uses the same number. */
const MAX_WAITING = 16;

export function isMinipass(
  value: unknown,
): value is MinipassStream<unknown, unknown> & EventEmitter {
  return (
    value instanceof EventEmitter &&
    'bufferLength' in value &&
    'promise' in value &&
    typeof value.promise === 'function'
  );
}

/**
 * Reads a Minipass stream in batches. Does not use the stream's own async iterator. That iterator drops the
 * last item of an asynchronous stream. If an error occurs between two reads, it ends without the error.
 */
export async function* minipassBatches<T>(
  stream: MinipassStream<never, T> & EventEmitter,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: Progress | undefined },
): AsyncGenerator<{ readonly items: readonly T[] }, void, undefined> {
  const channel = new Channel<T>(MAX_WAITING);
  const onData = (item: T) => {
    channel.push(item);
    if (!channel.isFull) return;
    stream.pause();
    void channel.room().then(() => stream.resume());
  };
  if (stream.destroyed) throw new Error('The stream was destroyed before it was read');
  stream.promise().then(
    () => channel.end(),
    (error: unknown) => channel.fail(error),
  );
  stream.on('data', onData);
  stream.resume();
  try {
    while (await channel.ready(signal)) {
      signal.throwIfAborted();
      const items = channel.takeAll();
      if (progress !== undefined) progress.received += items.length;
      yield { items };
    }
  } finally {
    stream.off('data', onData);
    if (channel.isOpen) stream.destroy();
  }
}

/** A writable stream of minipass, tar or fs-minipass, which is not a Node stream. */
export interface StreamSink<In> {
  write(item: In): boolean;
  end(): unknown;
}

interface Emitter extends EventEmitter, StreamSink<unknown> {
  readonly promise?: () => Promise<void>;
  readonly destroyed?: boolean;
  readonly destroy?: (error?: unknown) => unknown;
  /** Destroys a tar parser, which has no `destroy`. */
  readonly abort?: (error: unknown) => unknown;
}

/**
 * Replaces the error that Node throws when `null` is written to a stream. Node's message does not
 * tell the user what to do. Returns any other error unchanged.
 */
export function writeError(error: unknown): unknown {
  if (!isNodeError(error, 'ERR_STREAM_NULL_VALUES')) return error;
  const advice = 'Leave it out before the stream: filter(item => item !== null)';
  return new DataError('A Node stream does not accept null, which marks its end', {
    advice,
    cause: error,
  });
}

/**
 * Writes all items, then ends the stream. Waits for `drain` whenever `write` returns false. Resolves when the
 * stream has finished. If `untilEnded` is false, resolves as soon as `end` has been called. If the input or
 * the stream fails, the stream is destroyed.
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
    // The error listener is never removed, because a late error must not end the process.
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
      // Listens for `drain` before the write, because the stream may emit it during the write.
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
