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

export interface Attempt {
  readonly millrace: Millrace;
  readonly account: Account;
  readonly out: string;
  /** The UUID of the job, or the folder of stored files. */
  readonly input: string;
  /**
   * Called for each item before it reaches the sink, with the size of the item if it is known. Can
   * slow the consumer down.
   */
  readonly consume: (index: number, bytes?: number) => Promise<void> | void;
  /** The position at which the source starts. @default the position in the checkpoint */
  readonly resume?: Cursor | undefined;
  readonly onGap?: ((gap: ComplianceGap) => void) | undefined;
  readonly onEvent?: ((event: ComplianceEvent) => unknown) | undefined;
  /** Called with the tombstones of a compliance run. Such a run ends only when it is aborted. */
  readonly onTombstones?: ((tombstones: Tombstones) => unknown) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** @default 0, so that each commit ends before the next item is read */
  readonly commitIntervalMs?: number | undefined;
}

export interface Pipeline {
  run(attempt: Attempt): Promise<unknown>;
  found(out: string): Promise<Found>;
  /**
   * Returns the items that an incomplete run has committed. @default the items that the checkpoint
   * covers
   */
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

/** One column contains the whole post, so that a row can be compared exactly. */
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
