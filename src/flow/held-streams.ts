import { OptionError } from '../base/errors.js';
import { hasMethod, isWebReadable, isWebTransform, isWebWritable } from './web-streams.js';

interface Emitter {
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

/** What each flow, operator or sink was made of: streams and generators of the caller, or other flows and stages. */
const held = new WeakMap<object, readonly unknown[]>();
/** Streams whose failure does not end the process, and the error of each that has failed. */
const guarded = new WeakMap<object, { error?: unknown }>();
/** Sources that were closed, most of them after they were read to their end. */
const closed = new WeakSet<object>();

/**
 * Remembers what a flow, an operator or a sink was made of, so that `closeHeld` can close it before anything
 * is opened. From now on, the process goes on when one of these streams fails.
 */
export function hold<Holder extends object>(holder: Holder, parts: readonly unknown[]): Holder {
  held.set(holder, parts);
  for (const part of parts) guard(part);
  return holder;
}

/** The error that a stream has failed with since `hold`. */
export function failureOf(stream: object): { readonly error?: unknown } | undefined {
  const state = guarded.get(stream);
  return state !== undefined && 'error' in state ? state : undefined;
}

/** @throws OptionError for a source that was closed: most give no items then, as if they were complete. */
export function refuseClosed(source: object): void {
  if (closed.has(source)) throw usedBefore('source', 'source');
}

export function usedBefore(option: string, name: string): OptionError {
  return new OptionError(option, `The ${name} was used before. Make one for each run`);
}

/**
 * Closes the streams and generators that a value is, or that it was made of. Those that are closed stay as
 * they are. The flows in between close by themselves what they have opened.
 *
 * @param error Why stages and sinks are closed, if not because the run is over.
 */
export function closeHeld(value: unknown, error?: unknown): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  const parts = held.get(value);
  if (parts !== undefined) for (const part of parts) closeHeld(part, error);
  else if (typeof value === 'object') close(value, error);
}

function close(stream: object, error: unknown): void {
  try {
    if (hasMethod(stream, 'destroy')) {
      guard(stream);
      closed.add(stream);
      if (hasMethod(stream, 'write') && error instanceof Error) stream.destroy(error);
      else stream.destroy();
    } else if (isWebTransform(stream)) {
      close(stream.writable, error);
      close(stream.readable, error);
    } else if (isWebReadable(stream)) {
      if (stream.locked) return;
      closed.add(stream);
      stream.cancel(error).catch(ignore);
    } else if (isWebWritable(stream)) {
      if (!stream.locked) stream.abort(error).catch(ignore);
    } else if (hasMethod(stream, 'next') && hasMethod(stream, 'return')) {
      closed.add(stream);
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
  if (typeof value !== 'object' || value === null || guarded.has(value)) return;
  // These are never closed, so a listener would hide their errors for as long as the process runs.
  if (value === process.stdout || value === process.stderr) return;
  if (!hasMethod(value, 'on')) return;
  const state: { error?: unknown } = {};
  guarded.set(value, state);
  (value as unknown as Emitter).on('error', error => {
    state.error ??= error;
  });
}

function ignore(): void {
  // A stream that has failed rejects with its error, which the run has received.
}
