import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { isNodeError } from './errors.js';

/** Identifies a process, and tells it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The host name, for messages only. */
  readonly host: string;
  /** The scope of `pid`: one boot of one machine, and on Linux one container. */
  readonly machine: string;
  /** Start time, in the system's own units. */
  readonly started?: string | undefined;
}

let startOfThis: string | undefined;

export function thisProcess(): ProcessIdentity {
  // Read once, as it never changes: each lock asks for it.
  startOfThis ??= processStat('self')?.started;
  return { pid: process.pid, host: os.hostname(), machine: thisMachine(), started: startOfThis };
}

/**
 * Whether a process runs; `unknown` where it is on another machine or in another container.
 */
export function processState({
  pid,
  machine,
  started,
}: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (machine !== thisMachine()) return 'unknown';
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (isNodeError(error, 'ESRCH')) return 'dead';
  }
  const stat = processStat(pid);
  if (stat === undefined) return 'alive';
  const isSame = stat.state !== 'Z' && (started === undefined || stat.started === started);
  return isSame ? 'alive' : 'dead';
}

/** Host names change and are not unique; Linux has better identifiers. */
function thisMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return os.hostname();
  }
}

/** The start time of a process on Linux; elsewhere the pid has to suffice. */
function processStat(pid: number | 'self'): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; the state comes next, the start 19 fields on.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
