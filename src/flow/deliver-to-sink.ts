import type { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
// A default import, because a named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { settledSoon } from '../base/abortable.js';
import { hold } from './close-streams.js';
import { batchesOf, type Flow, identityOf, OwnFlow, type Pull, type SinkRun } from './flow.js';
import { type Argument, internalsOf } from './internals.js';
import { type StreamSink, writeError, writeToStream } from './minipass-streams.js';
import { callSink, composedOf } from './pipeline-arguments.js';
import { isWebWritable, writeToWeb } from './web-streams.js';

/**
 * Runs a sink, or writes to a stream until the end of the input.
 *
 * @throws OptionError immediately, if the value is neither a sink nor a stream.
 */
export function deliverToSink(
  input: Flow<unknown>,
  sink: Argument,
  run: Draining,
): PromiseLike<unknown> {
  const { value } = sink;
  const read = countDelivered(input, sink, run);
  const result =
    typeof value === 'function' ? callSink(sink, read, run) : drainTo(read, value, run);
  const { holdsLocks } = internalsOf(composedOf(sink).last.value);
  return holdsLocks ? result : settledSoon(result, run.signal);
}

/**
 * Returns the input of a sink. When the sink asks for the next batch, counts the items of the
 * previous batch as written. Does not do this if the sink counts its items itself.
 */
export function countDelivered(
  input: Flow<unknown>,
  sink: Argument,
  { signal, progress }: SinkRun = {},
): Flow<unknown> {
  const { composed, counts } = internalsOf(sink.value);
  // If the sink was created by `compose`, the items are counted later, at the sink that `compose` ends in.
  if (progress === undefined || composed !== undefined || counts) return input;
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
