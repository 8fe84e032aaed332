import { EventEmitter } from 'node:events';
import { Channel } from '../base/channel.js';
import type { Progress } from './progress.js';

/**
 * A stream of minipass, of any version, and of the packages that build on it (minizlib, tar,
 * fs-minipass). It writes `In` and reads `Out`.
 */
export interface MinipassStream<In, Out> extends AsyncIterable<Out> {
  /** Bytes or items that it buffers. Node streams have no such property. */
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

/** Unread items at which a stream is paused, as in Node's object mode. */
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
 * The batches of a Minipass stream. Its own async iterator is not used: it drops the last item of an
 * asynchronous stream, and takes an error that comes between two reads for the end.
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
