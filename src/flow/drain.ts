import type { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
// A named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { settledSoon } from '../base/abortable.js';
import { batchesOf, type Flow, identityOf, OwnFlow, type Pull, type SinkRun } from './flow.js';
import { hold } from './held-streams.js';
import { type Argument, callSink, composedOf } from './pipeline-arguments.js';
import { isWebWritable, writeToWeb } from './web-streams.js';
import { type StreamSink, writeError, writeToStream } from './write-to-stream.js';

/**
 * Runs a sink, or writes to a stream to its end.
 *
 * @throws OptionError Immediately, when it is neither.
 */
export function drain(input: Flow<unknown>, sink: Argument, run: Draining): PromiseLike<unknown> {
  const { value } = sink;
  const read = countDelivered(input, sink, run);
  const result =
    typeof value === 'function' ? callSink(sink, read, run) : drainTo(read, value, run);
  const { last } = composedOf(sink);
  const isOwn = typeof last.value === 'function' && ownSinks.has(last.value);
  return isOwn ? result : settledSoon(result, run.signal);
}

const ownSinks = new WeakSet<object>();

/** Marks a sink of this package that holds locks: after an abort, it is waited for until it has released them. */
export function ownSink<S extends object>(sink: S): S {
  ownSinks.add(sink);
  return sink;
}

const countingSinks = new WeakSet<object>();

/** Marks a sink that counts what it writes. For all others, what they have taken counts as written. */
export function countingSink<S extends object>(sink: S): S {
  countingSinks.add(sink);
  return sink;
}

/** The input of a sink. Counts the items of each batch as written once the sink asks for the next, unless the sink counts. */
export function countDelivered(
  input: Flow<unknown>,
  sink: Argument,
  { signal, progress }: SinkRun = {},
): Flow<unknown> {
  const { value } = sink;
  // In `compose`, the sink at the end counts.
  const isComposed = composedOf(sink).last !== sink;
  if (progress === undefined || isComposed || countingSinks.has(Object(value))) return input;
  const open = async function* (pull: Pull) {
    for await (const batch of batchesOf(input, pull)) {
      yield batch;
      progress.written += batch.items.length;
    }
  };
  return hold(new OwnFlow(open, { signal, identity: identityOf(input) }), [input]);
}

type Draining = SinkRun & { readonly signal: AbortSignal };

async function drainTo(input: Flow<unknown>, value: unknown, run: Draining): Promise<void> {
  if (isWebWritable(value)) {
    const failure = await writeToWeb(
      signal => new OwnFlow(pull => batchesOf(input, pull), { signal }),
      value,
      run.signal,
    );
    if (failure !== undefined) throw failure.error;
  } else if (value instanceof Writable)
    await streams.pipeline(Readable.from(input), value, { signal: run.signal }).catch(error => {
      throw writeError(error);
    });
  else await writeToStream(input, value as StreamSink<unknown> & EventEmitter, run);
}
