import { crc32 } from 'node:zlib';
import { StorageError } from '../../base/errors.js';
import { isRecord } from '../../base/record.js';
import type { Cursor, FlowIdentity, FlowStep } from '../../flow/flow.js';
import { flowDifference, stepDifference } from '../../flow/flow-identity.js';
import { isCount, type Json } from '../../json/type-guards.js';
import type { FileCounts } from '../write/output-file.js';

/**
 * How far a run has got:
 * - `running`: the output files are `.part` files, and the next run continues them from the cursor.
 * - `finishing`: all lines are written, and some output files may have their final names.
 * - `complete`: nothing is left to do.
 */
export type CheckpointState = 'running' | 'finishing' | 'complete';

export interface Checkpoint {
  readonly state: CheckpointState;
  readonly cursor: Cursor | undefined;
  readonly files: readonly CommittedFile[];
  readonly completed?: Date | undefined;
}

/** The value of `branch` for the file of damaged records, which belongs to no branch of `tee`. */
export const DAMAGED = 'damaged';

export interface CommittedFile extends FileCounts {
  /**
   * The index of the branch that writes the file, if several branches commit together. `DAMAGED` for the file
   * of damaged records.
   */
  readonly branch?: number | typeof DAMAGED | undefined;
  /**
   * Records from this byte offset on come after the cursor, so the next run may report them again. Set only
   * for a file of damaged records.
   */
  readonly settled?: number | undefined;
  /**
   * Set if an earlier run has finished the file, and no run has added to it since. Other programs may have
   * changed or moved the file.
   */
  readonly finished?: true | undefined;
  /** The result of `onFile`. Absent if `onFile` was not called or has failed. */
  readonly handedOn?: Json | undefined;
}

export interface CheckpointOwner {
  /** The name of the sink, and the sink options that affect the content of its output. */
  readonly sink: FlowStep;
  readonly flow: FlowIdentity;
}

export interface CheckpointText {
  readonly state: CheckpointState;
  readonly owner: CheckpointOwner;
  /** The cursor as JSON, or `null`. */
  readonly cursor: string;
  readonly files: readonly CommittedFile[];
  readonly completed?: Date | undefined;
}

/** How errors refer to a checkpoint. */
export interface CheckpointPlace {
  readonly path: string;
  /** The subject of error messages about the checkpoint, such as `The checkpoint out/checkpoint.json`. */
  readonly subject: string;
}

const VERSION = 1;
/**
 * Matches a checkpoint that ends with a checksum of the text before it. The checksum detects damage. With a
 * damaged byte count, the next run would truncate output files at the wrong position.
 */
const CHECK = /^([\s\S]*) {2}"check": "[0-9a-f]{8}"\n}\n$/;

/**
 * Returns the text that every checkpoint starts with. It must be followed by further members, each with a
 * comma after it, and then by the text from `checkOf`.
 *
 * @param completed The time at which the run was completed, if it is complete.
 */
export function headOf(
  state: string,
  { sink, flow }: CheckpointOwner,
  completed: Date | undefined,
): string {
  const since = completed === undefined ? '' : `\n  "completed": "${completed.toISOString()}",`;
  return `{
  "version": ${VERSION},
  "state": "${state}",${since}
  "sink": ${JSON.stringify(sink)},
  "flow": ${JSON.stringify(flow)},
`;
}

/**
 * Returns the text that every checkpoint ends with: a checksum and the closing brace.
 *
 * @param sum The CRC-32 of all text of the checkpoint before the returned text.
 */
export function checkOf(sum: number): string {
  return `  "check": "${sum.toString(16).padStart(8, '0')}"\n}\n`;
}

/**
 * Parses the text of a checkpoint and checks it.
 *
 * @param isValid Returns whether the other members, which `headOf` does not print, have the right types.
 * @throws StorageError if the text is damaged, was edited, or belongs to another run.
 */
export function checkedText(
  text: string,
  place: CheckpointPlace,
  owner: CheckpointOwner,
  isValid: (checkpoint: Record<string, unknown>) => boolean,
): Readonly<Record<string, unknown>> {
  const checkpoint = parsed(text, place);
  if (checkpoint.version !== VERSION)
    throw refused(place, `is of version ${JSON.stringify(checkpoint.version)}, not ${VERSION}`);
  const [, body] = CHECK.exec(text) ?? [];
  const isWhole = body !== undefined && text === body + checkOf(crc32(body));
  const { sink, flow } = checkpoint;
  const isOwned = isRecord(sink) && Array.isArray(flow) && flow.every(isRecord);
  if (!isWhole || !isOwned || !isValid(checkpoint))
    throw refused(place, 'is damaged or was edited');
  mustBelongTo(
    place,
    { sink: sink as FlowStep, flow: flow as readonly Record<string, unknown>[] as FlowIdentity },
    owner,
  );
  return checkpoint;
}

/**
 * Returns the completion time that `headOf` has printed; `undefined` for checkpoints of older versions, which
 * do not contain it.
 */
export function completedOf({ completed }: Readonly<Record<string, unknown>>): Date | undefined {
  const at = typeof completed === 'string' ? new Date(completed) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
}

function mustBelongTo(
  { path, subject }: CheckpointPlace,
  before: CheckpointOwner,
  owner: CheckpointOwner,
): void {
  const advice =
    'Run the same pipeline as before, choose another checkpoint for this one, or delete the checkpoint to start again.';
  const change = stepDifference(before.sink, owner.sink);
  if (change !== undefined)
    throw new StorageError(`${subject} belongs to another sink: ${change}. ${advice}`, { path });
  const difference = flowDifference(before.flow, owner.flow);
  if (difference !== undefined)
    throw new StorageError(`${subject} belongs to another flow: ${difference}. ${advice}`, {
      path,
    });
}

function parsed(text: string, place: CheckpointPlace): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The parse error is ignored. The code below refuses any text that is not a checkpoint.
  }
  throw refused(place, 'is damaged: it is not a checkpoint');
}

function refused({ path, subject }: CheckpointPlace, what: string): StorageError {
  return new StorageError(`${subject} ${what}. Restore it, or delete it to start again.`, { path });
}

export function isCommittedFile(file: unknown): boolean {
  if (!isRecord(file)) return false;
  const { path, posts, bytes, lineBytes = bytes, branch = 0, finished = true, settled = 0 } = file;
  return (
    finished === true &&
    typeof path === 'string' &&
    path !== '' &&
    [posts, bytes, lineBytes, settled].every(isCount) &&
    (branch === DAMAGED || isCount(branch))
  );
}

/**
 * The checkpoint of the sink `committed`. The caller's `save` function stores it as text in the target that
 * also stores the rows.
 */
export interface Saved {
  readonly state: CheckpointState;
  /** The id of the run that wrote the first rows. Every `WriteRange.token` begins with this id. */
  readonly id: string;
  readonly commits: number;
  readonly rows: number;
  /** The cursor as JSON, or `null`. */
  readonly cursor: string;
  /** Rows that may already be in the target. Set only if the target has no transactions. */
  readonly pending?: Pending | undefined;
  readonly completed?: Date | undefined;
  /**
   * The files that are committed together with the rows: the output of the other branches of `tee`, and the
   * file of damaged records.
   */
  readonly files: readonly CommittedFile[];
}

/**
 * The rows that were about to be written when the checkpoint was saved. They come after the checkpoint's
 * cursor.
 */
export interface Pending {
  readonly rows: number;
  /** The cursor after these rows, as JSON, or `null`. */
  readonly cursor: string;
  readonly isLast: boolean;
}

/**
 * Prints the checkpoint of `committed` as text. Equal checkpoints give equal text, so a retry recognises the
 * text of its previous attempt.
 */
export function printSaved(
  { state, id, commits, rows, cursor, pending, completed, files }: Saved,
  owner: CheckpointOwner,
): string {
  const members = [
    `"id": ${JSON.stringify(id)}`,
    `"commits": ${commits}`,
    `"rows": ${rows}`,
    `"cursor": ${cursor}`,
  ];
  if (pending !== undefined)
    members.push(
      `"pending": {"rows":${pending.rows},"isLast":${pending.isLast},"cursor":${pending.cursor}}`,
    );
  if (files.length > 0) members.push(`"files": ${JSON.stringify(files)}`);
  const body = headOf(state, owner, completed) + members.map(member => `  ${member},\n`).join('');
  return body + checkOf(crc32(body));
}

/** @throws StorageError if the text is damaged or belongs to another run. */
export function parseSaved(text: string, place: CheckpointPlace, owner: CheckpointOwner): Saved {
  const checked = checkedText(text, place, owner, isSaved);
  const { state, id, commits, rows, cursor, pending, files = [] } = checked;
  const json = (value: unknown) => JSON.stringify(value as Json);
  return {
    ...({ state, id, commits, rows } as Pick<Saved, 'state' | 'id' | 'commits' | 'rows'>),
    cursor: json(cursor),
    completed: completedOf(checked),
    files: files as readonly CommittedFile[],
    ...(isRecord(pending) && {
      pending: { ...(pending as Omit<Pending, 'cursor'>), cursor: json(pending.cursor) } as Pending,
    }),
  };
}

export function parseCursor(json: string): Cursor | undefined {
  return (JSON.parse(json) ?? undefined) as Cursor | undefined;
}

function isSaved(saved: Record<string, unknown>): boolean {
  const { state, id, commits, rows, cursor, pending, files = [] } = saved;
  return (
    Array.isArray(files) &&
    files.every(isCommittedFile) &&
    (state === 'running' || state === 'finishing' || state === 'complete') &&
    typeof id === 'string' &&
    isCount(commits) &&
    isCount(rows) &&
    cursor !== undefined &&
    (pending === undefined || isPending(pending))
  );
}

function isPending(pending: unknown): boolean {
  return (
    isRecord(pending) &&
    isCount(pending.rows) &&
    typeof pending.isLast === 'boolean' &&
    pending.cursor !== undefined
  );
}
