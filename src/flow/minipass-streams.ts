import { EventEmitter } from 'node:events';
import { abortable } from '../base/abortable.js';
import { WakeUp } from '../base/wait.js';
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
  let waiting: T[] = [];
  let outcome: { readonly error?: unknown } | undefined;
  const wakeUp = new WakeUp();
  const settle = (result: { readonly error?: unknown }) => {
    outcome = result;
    wakeUp.wake();
  };
  const onData = (item: T) => {
    waiting.push(item);
    if (waiting.length >= MAX_WAITING) stream.pause();
    wakeUp.wake();
  };
  if (stream.destroyed) throw new Error('The stream was destroyed before it was read');
  stream.promise().then(
    () => settle({}),
    (error: unknown) => settle({ error }),
  );
  stream.on('data', onData);
  try {
    while (true) {
      if (waiting.length === 0 && outcome === undefined) {
        const woken = wakeUp.next();
        stream.resume();
        await abortable(woken, signal);
      }
      signal.throwIfAborted();
      const items = waiting;
      waiting = [];
      if (items.length > 0) {
        if (progress !== undefined) progress.received += items.length;
        yield { items };
      } else if (outcome !== undefined) {
        if ('error' in outcome) throw outcome.error;
        return;
      }
    }
  } finally {
    stream.off('data', onData);
    if (outcome === undefined) stream.destroy();
  }
}
