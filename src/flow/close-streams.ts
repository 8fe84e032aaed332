import { OptionError } from '../base/errors.js';
import { internalsOf, withInternals } from './internals.js';
import { hasMethod, isWebReadable, isWebTransform, isWebWritable } from './web-streams.js';

interface Emitter {
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

/** What is known of a stream, generator or iterable of the caller. */
interface StreamState {
  /** Set once its `error` event has a listener: its failure does not end the process. */
  isGuarded?: boolean;
  /** What it has failed with. */
  failure?: { readonly error: unknown };
  /** Set for a source that was closed, most of them after they were read to their end. */
  isClosed?: boolean;
  /** Set for a stream that a flow was piped through. */
  isUsed?: boolean;
}

/** A map, since these objects are the caller's: they may be frozen, and what lists their properties must not see more. */
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
 * Remembers what a flow, an operator or a sink was made of, so that `closeHeld` can close it before anything is opened.
 * From now on, an error of one of these streams does not end the process.
 */
export function hold<Holder extends object>(holder: Holder, parts: readonly unknown[]): Holder {
  guardAll(parts);
  return withInternals(holder, { parts });
}

/** Keeps the process running when one of these streams fails. Other values are ignored. */
export function guardAll(streams: readonly unknown[]): void {
  for (const stream of streams) guard(stream);
}

/** The error that a stream has failed with since `hold`. */
export function failureOf(stream: object): { readonly error: unknown } | undefined {
  return states.get(stream)?.failure;
}

/** @throws OptionError for a source that was closed: most give no items then, as if they were complete. */
export function refuseClosed(source: object): void {
  if (states.get(source)?.isClosed) throw usedBefore('source', 'source');
}

/**
 * Called before a flow is piped through a stream.
 *
 * @param isOver Whether the stream takes nothing any more: a run would wait for it, or end at once.
 * @throws What the stream has failed with, or an OptionError for one that was used before.
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
 * Closes the streams and generators that a value is, or that it was made of. Closed ones stay unchanged. The flows in
 * between close what they have opened.
 *
 * @param error Why stages and sinks are closed, if not because the run is over.
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
      // A parser of tar.
      if (error !== undefined) stream.abort(error);
    }
  } catch {
    // What the run ended with says more than a failure to close a stream.
  }
}

function guard(value: unknown): void {
  if (typeof value !== 'object' || value === null || states.get(value)?.isGuarded) return;
  // These are never closed, so a listener would hide their errors for as long as the process runs.
  if (value === process.stdout || value === process.stderr) return;
  if (!hasMethod(value, 'on')) return;
  const state = stateOf(value);
  state.isGuarded = true;
  (value as unknown as Emitter).on('error', error => {
    state.failure ??= { error };
  });
}

function ignore(): void {
  // A stream that has failed rejects with its error, which the run has received.
}
