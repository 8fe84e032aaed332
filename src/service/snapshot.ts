import { createHash } from 'node:crypto';
import { oneOf } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';

/**
 * The parts of a service's state, in the order in which `service.reset` resets them. Jobs come before the
 * clock, so that resetting the clock does not advance them.
 */
export const STATE_PARTS = [
  'jobs',
  'clock',
  'faults',
  'posts',
  'compliance',
  'rules',
  'grants',
  'usage',
  'limits',
  'requests',
] as const;
/**
 * A part of a service's state:
 * - `jobs`: historical jobs;
 * - `clock`: the clock;
 * - `faults`: planted faults;
 * - `posts`: added posts;
 * - `compliance`: injected compliance events;
 * - `rules`: the rules of the replay stream;
 * - `grants`: the access that users have granted to applications;
 * - `usage`: the usage report;
 * - `limits`: the requests that count towards limits;
 * - `requests`: the request log.
 */
export type StatePart = (typeof STATE_PARTS)[number];

/**
 * The state of a service as JSON. `service.snapshot()` returns it. `service.restore()` accepts it, on the same
 * service or on another one.
 */
export interface Snapshot {
  readonly version: 1;
  /** The state. Its format may change between versions. */
  readonly state: object;
  /** The SHA-256 of the state, by which a damaged snapshot is detected. */
  readonly digest: string;
}

interface Part {
  /** Returns the state for snapshots. Absent for parts that snapshots do not contain. */
  kept?(): unknown;
  /** Restores the state that `kept` returned. Without an argument, resets the part to its state at the start. */
  replace(kept?: unknown): void | Promise<void>;
}

export type StateParts = Readonly<Record<StatePart, Part>>;

/** Resets the named parts, or all parts if none is named. @throws OptionError for an unknown name; StorageError. */
export async function resetState(
  parts: StateParts,
  names: readonly StatePart[],
): Promise<readonly StatePart[]> {
  for (const name of names)
    if (!PART.accepts(name))
      throw new OptionError(
        'parts',
        `service.reset: Expected ${PART.expected}, got ${String(name)}`,
      );
  const chosen = STATE_PARTS.filter(name => names.length === 0 || names.includes(name));
  for (const name of chosen) await parts[name].replace();
  return chosen;
}

/**
 * Calls `kept` on each part that has this function, and returns a snapshot of the results.
 *
 * @throws StorageError
 */
export async function snapshotOf(parts: StateParts): Promise<Snapshot> {
  const state: Record<string, unknown> = {};
  for (const name of STATE_PARTS) state[name] = await parts[name].kept?.();
  // The state is parsed from the JSON that the digest is computed from. `restoreState` then computes the same
  // digest, even if the snapshot was stored as JSON.
  const printed = JSON.stringify(state);
  return { version: 1, state: JSON.parse(printed) as object, digest: digestOf(printed) };
}

/** @throws OptionError for anything that `snapshotOf` did not return; StorageError. */
export async function restoreState(parts: StateParts, snapshot: unknown): Promise<void> {
  const { version, state, digest } = isRecord(snapshot) ? snapshot : {};
  if (version !== 1 || !isRecord(state) || digest !== digestOf(JSON.stringify(state)))
    throw new OptionError(
      'snapshot',
      'service.restore: `snapshot` must be what service.snapshot() of this version returned, unchanged',
    );
  // Jobs are removed before the clock changes, and restored after it. Otherwise, the new time could advance
  // the old jobs, or the old time could already expire the restored jobs.
  await parts.jobs.replace();
  for (const name of STATE_PARTS) if (name !== 'jobs') await parts[name].replace(state[name]);
  await parts.jobs.replace(state.jobs);
}

const PART = oneOf('a part of the state', STATE_PARTS);

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
