import { abortable, LinkedAbort } from '../base/abortable.js';
import { stopReason } from './flow-run.js';

// `fromWeb` and `toWeb` of node:stream are not used, because they have several problems in Node 20. They
// refuse polyfills and streams of other realms. They end a stream at an item that is `null`. They keep a
// stream locked after the run. They do not abort a write that never ends. They fail if a writable stream ends
// before its input. The tests of this file cover all these problems.

// These types are structural. They match streams from the global scope, from node:stream/web, from other
// realms and from polyfills, whether or not browser types are installed. TypeScript infers the item type from
// `pipeTo`.

/** A `ReadableStream` of the web. */
export interface WebReadable<Out> {
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): unknown;
  pipeTo(destination: WebWritable<Out>): Promise<void>;
}

/** A `WritableStream` of the web. */
export interface WebWritable<In> {
  readonly locked: boolean;
  abort(reason?: unknown): Promise<void>;
  getWriter(): WebWriter<In>;
}

/** The writer of a `WritableStream`. */
export interface WebWriter<In> {
  readonly closed: Promise<unknown>;
  readonly ready: Promise<unknown>;
  write(item: In): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
  releaseLock(): void;
}

/** A `TransformStream` of the web, or another pair of streams such as `CompressionStream`. */
export interface WebTransform<In, Out> {
  readonly writable: WebWritable<In>;
  readonly readable: WebReadable<Out>;
}

interface WebReader<Out> {
  read(): Promise<IteratorResult<Out, undefined>>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}

export function isWebReadable(value: unknown): value is WebReadable<unknown> {
  return hasMethod(value, 'getReader');
}

export function isWebWritable(value: unknown): value is WebWritable<unknown> {
  return hasMethod(value, 'getWriter');
}

export function isWebTransform(value: unknown): value is WebTransform<unknown, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { readable, writable } = value as Partial<WebTransform<unknown, unknown>>;
  return isWebReadable(readable) && isWebWritable(writable);
}

export function hasMethod<Name extends string>(
  value: unknown,
  name: Name,
): value is Record<Name, (...args: unknown[]) => unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
  );
}

/**
 * Reads the items of a stream. The stream's own async iterator is not used, because it cannot be closed while
 * a read is pending.
 *
 * @param signal When a reader stops early, the stream is cancelled with the reason of this signal.
 */
export function webItems<T>(stream: WebReadable<T>, signal: AbortSignal): AsyncIterator<T> {
  const reader = stream.getReader() as WebReader<T>;
  return {
    async next() {
      const result = await reader.read();
      if (result.done) reader.releaseLock();
      return result;
    },
    async return() {
      // `cancel` rejects with the error of a failed stream, which the reader has already received.
      reader.cancel(stopReason(signal)).catch(() => {});
      reader.releaseLock();
      return { done: true, value: undefined };
    },
  };
}

/** Why not all items were written, and whether the input or the stream failed. */
export interface WriteFailure {
  readonly of: 'input' | 'stream';
  readonly error: unknown;
}

/**
 * Writes all items to a stream, as fast as the stream accepts them, and closes the stream. If the input fails
 * or the signal fires, aborts the stream with the error or the signal's reason. If the stream fails, closes
 * the input.
 *
 * @param open Returns the items. They must end when the given signal fires.
 */
export async function writeToWeb<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  stream: WebWritable<T>,
  signal: AbortSignal,
): Promise<WriteFailure | undefined> {
  const writer = stream.getWriter();
  const linked = new LinkedAbort(signal);
  let failure: WriteFailure | undefined;
  const fail = (error: unknown) => {
    failure ??= { of: 'stream', error };
    linked.abort(error);
  };
  const waitFor = (done: Promise<unknown>) => {
    done.catch(fail);
    return abortable(done, linked.signal);
  };
  // Whether all items were passed to the stream, so that it may close. If it closes earlier, writing
  // must stop, because writing to a closed stream fails an assertion in Node 20.
  let closing = false;
  writer.closed.then(() => {
    if (!closing) fail(new Error('The stream was closed before all items were written'));
  }, fail);
  try {
    for await (const item of open(linked.signal)) {
      await waitFor(writer.ready);
      // The write is not awaited, because waiting for `ready` already limits how many items are queued in the
      // stream.
      writer.write(item).catch(fail);
    }
    closing = true;
    await waitFor(writer.close());
  } catch (error) {
    failure ??= { of: 'input', error };
    writer.abort(signal.aborted ? stopReason(signal) : error).catch(() => {});
  } finally {
    linked.unlink();
    writer.releaseLock();
  }
  return failure;
}
