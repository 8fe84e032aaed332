import path from 'node:path';
import type {
  Account,
  Activity,
  ComplianceEvent,
  ComplianceGap,
  CountBucket,
  Cursor,
  FlowSink,
  Tombstones,
} from 'millrace';
import type { Found } from './compare.js';
import { minuteOf, QUERY, WINDOWS } from './windows.js';

export type Millrace = typeof import('millrace');

/** What one run of a user's script gets. Runs in this process and in children that are killed. */
export interface Attempt {
  readonly millrace: Millrace;
  readonly account: Account;
  /** Of the outputs. */
  readonly out: string;
  /** The job, or the folder of the stored files. */
  readonly input: string;
  /** Called for each item on its way to the sink, with its size where that is known; slows the consumer down. */
  readonly consume: (index: number, bytes?: number) => Promise<void> | void;
  /** Where its source begins, in place of a checkpoint. */
  readonly resume?: Cursor | undefined;
  readonly onGap?: ((gap: ComplianceGap) => void) | undefined;
  /** Called with each compliance event. */
  readonly onEvent?: ((event: ComplianceEvent) => unknown) | undefined;
  /** Called with the store of a compliance run, which has no end. */
  readonly onTombstones?: ((tombstones: Tombstones) => unknown) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** @default 0, where each commit ends before the next item is read */
  readonly commitIntervalMs?: number | undefined;
}

export interface Pipeline {
  /** A user's script: run again, it goes on. */
  run(attempt: Attempt): Promise<unknown>;
  /** All that a complete run has put out. */
  found(out: string): Promise<Found>;
  /** What is committed while it is incomplete. @default by the checkpoint */
  committed?(out: string): Promise<Found>;
}

export const dates = ({ from, to }: { from: number; to: number }) => ({
  fromDate: minuteOf(from),
  toDate: minuteOf(to),
});

export function searchOf(
  { millrace, account, resume }: Attempt,
  window = WINDOWS.search as { from: number; to: number },
) {
  return millrace.search(account, {
    product: 'fullarchive',
    query: QUERY,
    maxResults: 10,
    resume,
    ...dates(window),
  });
}

export function paced<T>({ millrace, consume }: Attempt) {
  let index = 0;
  return millrace.tap<T>(item => consume(index++, (item as { raw?: Uint8Array }).raw?.length));
}

export const at = ({ out }: Attempt, name: string) => path.join(out, name);
export const checkpointed = (attempt: Attempt) => ({
  checkpoint: at(attempt, 'checkpoint.json'),
  commitIntervalMs: attempt.commitIntervalMs ?? 0,
});

export function filesAt<T extends Activity | CountBucket>(attempt: Attempt, name: string) {
  return attempt.millrace.files<T>({ path: at(attempt, name), ...checkpointed(attempt) });
}

/** The whole post in one column, so that a row can be compared exactly. */
export const COLUMNS = [
  'id',
  { name: 'raw', type: 'string', value: (post: Activity) => post.raw.toString() },
] as const;

export function searchInto(attempt: Attempt, sink: FlowSink<Activity, unknown>) {
  const { dedupe, pipeline } = attempt.millrace;
  return pipeline(searchOf(attempt), dedupe(), paced<Activity>(attempt), sink, {
    signal: attempt.signal,
  });
}
