import { randomUUID } from 'node:crypto';
import { threadId } from 'node:worker_threads';
import { processState, thisProcess } from '../base/process-identity.js';
import type { FlowIdentity, FlowStep } from '../flow/flow.js';
import { flowDifference } from '../flow/flow-identity.js';
import { realTime } from '../http/timing.js';
import { JetStreamError, type JetStreamFailure } from './jet-stream-errors.js';
import {
  ENTRY_VERSION,
  type EntryBucket,
  entryState,
  PublisherEntry,
  type PublisherState,
  publishing,
  readEntry,
  writeEntry,
} from './publisher-entry.js';
import type { OpenedStream } from './stream-settings.js';

/**
 * While waiting for another process to change an entry, the time between two reads of the entry, in
 * milliseconds.
 */
const POLL_MS = 200;
/**
 * Matches the suffix that the name of an entry has if the flow is one shard of its source, such as `-2-of-8`.
 */
const SHARD_OF = /^-\d+-of-(\d+)$/;

export interface TakeOverOptions {
  readonly key: string;
  /** The name of the publisher without the suffix for the shard: `posts` if `key` is `posts-2-of-8`. */
  readonly name: string;
  readonly stream: OpenedStream;
  readonly flow: FlowIdentity;
  /**
   * If another process with this name has written nothing for this many milliseconds, this process takes
   * over.
   */
  readonly takeoverMs: number;
}

/**
 * Makes this process the only one that publishes under a name.
 *
 * @throws JetStreamError if another process is publishing, or if the entry belongs to another flow or stream.
 */
export async function takeOver(
  bucket: EntryBucket,
  options: TakeOverOptions,
): Promise<PublisherEntry> {
  const { key, stream, flow } = options;
  const me = { ...thisProcess(), run: randomUUID(), thread: threadId };
  let waited: number | undefined;
  while (true) {
    const found = await readEntry(bucket, key);
    const before = found && entryState(key, found);
    if (found !== undefined && before !== undefined) {
      mustBelong(key, before, options);
      if (before.state === 'complete')
        return new PublisherEntry(bucket, key, before, found.revision);
      if (waited !== undefined && found.revision > waited) throw inUse(key, before);
      if (waited === undefined && !hasEnded(before)) {
        waited = found.revision;
        await silence(bucket, key, found.revision, options.takeoverMs);
        continue;
      }
    }
    if (before === undefined) await mustNotDivideAgain(bucket, options);
    // The epoch numbers the starts of a publisher. It comes from the clock, because an entry may be deleted
    // while the stream still has messages with the epochs of that entry. The new epoch must be higher than
    // those epochs.
    const epoch = Math.max((before?.epoch ?? 0) + 1, Date.now());
    const state: PublisherState = before
      ? { ...before, epoch, process: me, write: 0 }
      : {
          version: ENTRY_VERSION,
          state: 'running',
          stream: stream.name,
          created: stream.created,
          flow,
          epoch,
          begun: epoch,
          // A new publisher has published nothing yet. Its messages will all come after this sequence, so the
          // next run looks for them only there.
          seq: stream.lastSequence,
          series: epoch,
          positions: [],
          cursor: null,
          counts: { posts: 0, messages: 0, bytes: 0 },
          process: me,
          write: 0,
        };
    const revision = await writeEntry(bucket, key, state, found?.revision ?? 0);
    if (revision !== undefined) {
      publishing.add(me.run);
      return new PublisherEntry(bucket, key, state, revision);
    }
    // Another process has written the entry since it was read, or the servers have answered with an earlier
    // state. The loop reads the entry again.
  }
}

/** Waits until another process has written or deleted the entry, but at most `takeoverMs`. */
async function silence(
  bucket: EntryBucket,
  key: string,
  revision: number,
  takeoverMs: number,
): Promise<void> {
  const started = performance.now();
  while (performance.now() - started < takeoverMs) {
    await realTime.sleep(POLL_MS, bucket.connection.signal);
    const now = await readEntry(bucket, key);
    // Only a higher revision counts, because a server that is no longer the leader may return an
    // outdated one.
    if (now === undefined || now.revision > revision) return;
  }
}

/**
 * Whether the run that wrote the entry has certainly ended. A run on another machine or in another container
 * may still be running, and so may a run whose entry does not name a machine.
 */
function hasEnded({ process: { run, thread, ...by } }: PublisherState): boolean {
  const state = processState(by);
  const isHere = state === 'alive' && by.pid === process.pid;
  return isHere ? thread === threadId && !publishing.has(run) : state === 'dead';
}

/** @throws JetStreamError if the entry belongs to another flow or stream */
function mustBelong(key: string, before: PublisherState, { stream, flow }: TakeOverOptions): void {
  const refuse = (failure: JetStreamFailure, problem: string) => {
    const again = 'or delete the entry of the publisher to publish everything again';
    throw new JetStreamError(`toJetStream: ${problem}, ${again}`, { failure });
  };
  const difference = flowDifference(before.flow, flow);
  if (difference !== undefined)
    refuse(
      'publisher',
      `the publisher ${key} belongs to another flow: ${difference}. Run the same pipeline as before, pass another \`name\` for this one`,
    );
  if (before.stream !== stream.name)
    refuse(
      'publisher',
      `the publisher ${key} belongs to the stream ${before.stream}. Pass another \`name\` for ${stream.name}`,
    );
  if (before.created !== stream.created)
    refuse(
      'stream',
      `the stream ${stream.name} was deleted and recreated since the publisher ${key} published to it. Pass another \`name\``,
    );
}

/**
 * Refuses a run whose number of shards has changed since an earlier run. Entries for a different number of
 * shards have different names, so nothing else would prevent this run from publishing all posts again.
 *
 * @throws JetStreamError if an entry for the same flow has a different number of shards.
 */
async function mustNotDivideAgain(
  bucket: EntryBucket,
  { key, name, flow }: TakeOverOptions,
): Promise<void> {
  const [, of] = SHARD_OF.exec(key.slice(name.length)) ?? [];
  const { state } = await bucket.connection.streamInfo(`KV_${bucket.name}`, {
    subjects_filter: `$KV.${bucket.name}.*`,
  });
  const keys = Object.keys(state.subjects ?? {}).map(subject => subject.split('.').at(-1) ?? '');
  for (const other of keys) {
    const [suffix, otherOf] = SHARD_OF.exec(other.slice(name.length)) ?? [];
    if (other !== name && other !== `${name}${suffix}`) continue;
    if (otherOf === of) continue;
    const entry = await readEntry(bucket, other);
    if (entry === undefined) continue;
    const before = entryState(other, entry).flow;
    if (flowDifference(withoutShards(before), withoutShards(flow)) !== undefined) continue;
    const [was, is] = [shardOfFlow(before), shardOfFlow(flow)];
    throw new JetStreamError(
      `toJetStream: the publisher ${other} has published ${was === undefined ? 'all' : `shard ${was}`} of this flow, and this run is ${is === undefined ? 'no shard' : `shard ${is}`}: it would publish posts again. Run the same shards as before, pass another \`name\` and another stream, or delete all entries of the publisher ${name} to publish everything again`,
      { failure: 'publisher' },
    );
  }
}

/**
 * Returns the shard of a flow's source, such as `2/8`. Returns `undefined` if the flow has the whole source.
 */
export function shardOfFlow(flow: FlowIdentity): string | undefined {
  const shard = flow.map(step => step.shard).find(value => typeof value === 'string');
  return shard as string | undefined;
}

function withoutShards(flow: FlowIdentity): FlowIdentity {
  return flow.map(({ shard: _, ...step }) => step as FlowStep);
}

function inUse(key: string, { process: { host, pid } }: PublisherState): JetStreamError {
  return new JetStreamError(
    `toJetStream: process ${pid} on ${host} is publishing under the name ${key}. Wait until it ends, or pass another \`name\``,
    { failure: 'in-use' },
  );
}
