import { crc32 } from 'node:zlib';
import { isRecord } from '../../base/record.js';
import type { Cursor } from '../../flow/flow.js';
import { isCount, type Json } from '../../json/json.js';
import type { CheckpointState, CommittedFile } from './checkpoint.js';
import { isCommittedFile } from './checkpoint.js';
import {
  type CheckpointOwner,
  type CheckpointPlace,
  checkedText,
  checkOf,
  completedOf,
  headOf,
} from './checkpoint-text.js';

/** What the text says that the caller saves with the rows. */
export interface Saved {
  readonly state: CheckpointState;
  /** Of the first run: begins the tokens of all ranges. */
  readonly id: string;
  /** Commits so far. */
  readonly commits: number;
  /** Rows so far. */
  readonly rows: number;
  /** As JSON, or `null`. */
  readonly cursor: string;
  /** Rows that may have been written already, where the target has no transactions. */
  readonly pending?: Pending | undefined;
  /** When all was written, where it is. */
  readonly completed?: Date | undefined;
  /** The files of the other branches of `tee`, and of the records that could not be used. */
  readonly files: readonly CommittedFile[];
}

/** The rows between the cursor of a text and another. */
export interface Pending {
  readonly rows: number;
  /** The cursor after them, as JSON, or `null`. */
  readonly cursor: string;
  /** Whether they are the last. */
  readonly isLast: boolean;
}

/** Two texts are equal only where they say the same. */
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

/** @throws StorageError where the text is damaged, or belongs to another run. */
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

/** The cursor that JSON stands for. */
export function cursorOf(json: string): Cursor | undefined {
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
