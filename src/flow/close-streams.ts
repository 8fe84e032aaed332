import { OptionError } from '../base/errors.js';
import { internalsOf, withInternals } from './internals.js';
import { hasMethod, isWebReadable, isWebTransform, isWebWritable } from './web-streams.js';

interface Emitter {
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

interface StreamState {
  /** Set once a listener handles the stream's `error` event, so that a failure does not end the process. */
  isGuarded?: boolean;
  failure?: { readonly error: unknown };
  /** Set for a source that was closed, usually because it was read to its end. */
  isClosed?: boolean;
  /** Set for a stream that a flow was piped through. */
  isUsed?: boolean;
}

/**
 * The state of each stream. A WeakMap is used instead of a property, because streams belong to the caller.
 * They may be frozen, and code that lists their properties must not see an additional one.
 */
const states = new WeakMap<object, StreamState>();

function stateOf(stream: object): StreamState {
  let state = states.get(stream);
  if (state === undefined) {
    state = {};
    states.set(stream, state);
  }
  return state;
}

/**
 * Remembers the streams and generators from which a flow, an operator or a sink was created. `closeHeld` can
 * then close them even if they were never opened. From now on, an error of one of these streams does not end
 * the process.
 */
export function hold<Holder extends object>(holder: Holder, parts: readonly unknown[]): Holder {
  guardAll(parts);
  return withInternals(holder, { parts });
}

export function guardAll(streams: readonly unknown[]): void {
  for (const stream of streams) guard(stream);
}

export function failureOf(stream: object): { readonly error: unknown } | undefined {
  return states.get(stream)?.failure;
}

/**
 * Refuses a source that was closed, and a Node stream that other code has read to its end. Reading such a
 * source usually yields no items and no error.
 *
 * @throws OptionError if the source was closed or read
 */
export function refuseClosed(source: object): void {
  const { readableEnded } = source as { readonly readableEnded?: unknown };
  if (states.get(source)?.isClosed || readableEnded === true) throw usedBefore('source', 'source');
}

/**
 * Marks a stream as used. Call this before piping a flow through the stream.
 *
 * @param isOver Whether the stream no longer accepts writes. Such a stream is refused, because a run would
 *   wait for it forever, or end immediately.
 * @throws The error with which the stream has failed, or an OptionError if the stream was used before or no
 *   longer accepts writes.
 */
export function useOnce(stream: object, isOver: boolean): void {
  const state = stateOf(stream);
  if (state.isUsed || isOver) throw state.failure?.error ?? usedBefore('stage', 'stream');
  state.isUsed = true;
}

function usedBefore(option: string, name: string): OptionError {
  return new OptionError(option, `The ${name} was used before. Make one for each run`);
}

/**
 * Closes a stream or generator, or the streams and generators from which a flow or stage was created. Does
 * not affect streams that are already closed. Flows close the streams that they open themselves.
 *
 * @param error The reason with which stages and sinks are closed. Undefined if the run has ended normally.
 */
export function closeHeld(value: unknown, error?: unknown): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  const { parts } = internalsOf(value);
  if (parts !== undefined) for (const part of parts) closeHeld(part, error);
  else if (typeof value === 'object') close(value, error);
}

function close(stream: object, error: unknown): void {
  try {
    if (hasMethod(stream, 'destroy')) {
      guard(stream);
      stateOf(stream).isClosed = true;
      if (hasMethod(stream, 'write') && error instanceof Error) stream.destroy(error);
      else stream.destroy();
    } else if (isWebTransform(stream)) {
      close(stream.writable, error);
      close(stream.readable, error);
    } else if (isWebReadable(stream)) {
      if (stream.locked) return;
      stateOf(stream).isClosed = true;
      stream.cancel(error).catch(ignore);
    } else if (isWebWritable(stream)) {
      if (!stream.locked) stream.abort(error).catch(ignore);
    } else if (hasMethod(stream, 'next') && hasMethod(stream, 'return')) {
      stateOf(stream).isClosed = true;
      Promise.resolve(stream.return()).catch(ignore);
    } else if (hasMethod(stream, 'write') && hasMethod(stream, 'abort')) {
      // Tar parsers have no `destroy`. They have `abort`.
      if (error !== undefined) stream.abort(error);
    }
  } catch {
    // A failure to close the stream is ignored. The error that ended the run is more useful.
  }
}

function guard(value: unknown): void {
  if (typeof value !== 'object' || value === null || states.get(value)?.isGuarded) return;
  // Standard output and standard error get no listener. Because they are never closed, it would hide their
  // errors until the process ends.
  if (value === process.stdout || value === process.stderr) return;
  if (!hasMethod(value, 'on')) return;
  const state = stateOf(value);
  state.isGuarded = true;
  (value as unknown as Emitter).on('error', error => {
    state.failure ??= { error };
  });
}

function ignore(): void {
  // Ignores the rejection. Closing a failed stream rejects with its error, which the run has
  // already received.
}
