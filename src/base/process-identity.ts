import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { isNodeError } from './errors.js';

/** Identifies a process. A later process with the same pid has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The host name, for messages only. */
  readonly host: string;
  /** The scope of `pid`: one boot of one machine, and on Linux one container. */
  readonly machine: string;
  /** Start time of the process, in the system's own units. */
  readonly started?: string | undefined;
}

let startOfThis: string | undefined;

export function thisProcess(): ProcessIdentity {
  // Cached, because it never changes and every lock needs it.
  startOfThis ??= processStat('self')?.started;
  return { pid: process.pid, host: os.hostname(), machine: thisMachine(), started: startOfThis };
}

/** Whether a process runs; `unknown` if it is on another machine or in another container. */
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

/**
 * Identifies this machine. On Linux, it does not use the host name, which can change and is not
 * unique.
 */
function thisMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return os.hostname();
  }
}

/** The state and start time of a process on Linux; `undefined` on other systems, which compare the pid only. */
function processStat(pid: number | 'self'): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain anything, so this starts after its end. The state is the
    // first field there, and the start time comes 19 fields later.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
