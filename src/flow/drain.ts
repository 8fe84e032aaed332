import type { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
// A named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { settledSoon } from '../base/abortable.js';
import { batchesOf, type Flow, OwnFlow, type SinkRun } from './flow.js';
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
  const result =
    typeof value === 'function' ? callSink(sink, input, run) : drainTo(input, value, run);
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
