import { createHash } from 'node:crypto';
import { oneOf } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';

/**
 * The parts of a service's state, in the order in which `service.reset` resets them: jobs first, so that a moved clock
 * does not advance them.
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
 * A part of a service's state: historical jobs; the clock; planted faults; exact posts; injected compliance events; rules of the
 * stream; what users have granted; the usage report; the requests that rate limits have counted; the request log.
 */
export type StatePart = (typeof STATE_PARTS)[number];

/** State of a service, as JSON: what `service.snapshot()` returns and `service.restore()` takes, also of another service. */
export interface Snapshot {
  readonly version: 1;
  /** The state. Its format may change between versions. */
  readonly state: object;
  /** SHA-256 of the state, by which a damaged snapshot is recognized. */
  readonly digest: string;
}

/** One part: how it is reset, and kept in snapshots. */
interface Part {
  /** Absent for what no snapshot has. */
  kept?(): unknown;
  /** Takes what `kept` returned. Without an argument: as at the start. */
  replace(kept?: unknown): void | Promise<void>;
}

export type StateParts = Readonly<Record<StatePart, Part>>;

/** Sets parts back, or all if none is named. @throws OptionError for the name of no part; StorageError. */
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

/** Saves the state, part by part. @throws StorageError */
export async function snapshotOf(parts: StateParts): Promise<Snapshot> {
  const state: Record<string, unknown> = {};
  for (const name of STATE_PARTS) state[name] = await parts[name].kept?.();
  // As it is after a way through JSON, so that the digest is the same.
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
  // Old jobs must not see the new clock, and new jobs not the old one, by which they may have expired.
  await parts.jobs.replace();
  for (const name of STATE_PARTS) if (name !== 'jobs') await parts[name].replace(state[name]);
  await parts.jobs.replace(state.jobs);
}

const PART = oneOf('a part of the state', STATE_PARTS);

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
