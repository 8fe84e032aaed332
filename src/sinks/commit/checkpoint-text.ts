import { crc32 } from 'node:zlib';
import { StorageError } from '../../base/errors.js';
import { isRecord } from '../../base/record.js';
import type { FlowIdentity, FlowStep } from '../../flow/flow.js';
import { flowDifference, stepDifference } from '../../flow/flow-difference.js';

/** The run that a checkpoint belongs to. */
export interface CheckpointOwner {
  /** The name of the sink, and the options that the contents of its output depend on. */
  readonly sink: FlowStep;
  readonly flow: FlowIdentity;
}

/** Where a checkpoint is, for messages. */
export interface CheckpointPlace {
  /** The `path` of errors. */
  readonly path: string;
  /** Begins their messages: `The checkpoint out/checkpoint.json`. */
  readonly subject: string;
}

const VERSION = 1;
/** The text, and the checksum of what is before it: a wrong count would truncate files in the wrong place. */
const CHECK = /^([\s\S]*) {2}"check": "[0-9a-f]{8}"\n}\n$/;

/**
 * How the text of each checkpoint begins. Members follow, each with a comma at its end; `checkOf` ends it.
 *
 * @param completed When all was written, where it is.
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

/** Ends the text of a checkpoint; `sum` is the CRC-32 of all before. */
export function checkOf(sum: number): string {
  return `  "check": "${sum.toString(16).padStart(8, '0')}"\n}\n`;
}

/**
 * The members of a checkpoint.
 *
 * @param isValid Whether its own members have the right types.
 * @throws StorageError where the text is damaged or edited, or belongs to another run.
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

/** The time that `headOf` printed. An older version did not. */
export function completedOf({ completed }: Readonly<Record<string, unknown>>): Date | undefined {
  const at = typeof completed === 'string' ? new Date(completed) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
}

function mustBelongTo(
  { path, subject }: CheckpointPlace,
  before: CheckpointOwner,
  owner: CheckpointOwner,
): void {
  const goOn =
    'Run the same pipeline as before, choose another checkpoint for this one, or delete the checkpoint to start again.';
  const change = stepDifference(before.sink, owner.sink);
  if (change !== undefined)
    throw new StorageError(`${subject} belongs to another sink: ${change}. ${goOn}`, { path });
  const difference = flowDifference(before.flow, owner.flow);
  if (difference !== undefined)
    throw new StorageError(`${subject} belongs to another flow: ${difference}. ${goOn}`, { path });
}

function parsed(text: string, place: CheckpointPlace): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported like any other text that is not a checkpoint.
  }
  throw refused(place, 'is damaged: it is not a checkpoint');
}

function refused({ path, subject }: CheckpointPlace, what: string): StorageError {
  return new StorageError(`${subject} ${what}. Restore it, or delete it to start again.`, { path });
}
