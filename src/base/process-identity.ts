import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { isNodeError } from './errors.js';

/** Identifies a process. If another process gets the same pid later, it has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The host name, for messages only. */
  readonly host: string;
  /**
   * Identifies the scope in which `pid` is unique. On Linux, this is one boot of a machine or container. On
   * other systems, it is the machine.
   */
  readonly machine: string;
  /** When the process started, exactly as the operating system reports it. Only compared for equality. */
  readonly started?: string | undefined;
}

let startOfThis: string | undefined;

export function thisProcess(): ProcessIdentity {
  // Cached, because the start time never changes and every lock needs it.
  startOfThis ??= processStat('self')?.started;
  return { pid: process.pid, host: os.hostname(), machine: thisMachine(), started: startOfThis };
}

/**
 * Whether a process is running. Returns `unknown` if the process is on another machine or in another
 * container.
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

/**
 * Identifies this machine and, on Linux, the current boot and the container. The host name is not used on
 * Linux, because it can change and is not unique.
 */
function thisMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return os.hostname();
  }
}

/**
 * Returns the state and start time of a process on Linux. Returns `undefined` on other systems, where
 * processes are compared by pid only.
 */
function processStat(pid: number | 'self'): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the name of the program in parentheses, which may contain any characters. Reading
    // therefore starts after the last parenthesis. The first field there is the state; the start time comes
    // 19 fields later.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
