import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { isNodeError } from '../errors.js';

/** A process, told apart from all others, also from a later one of the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** For people. */
  readonly host: string;
  /** Whose processes `pid` counts: one start of one machine, and on Linux one container. */
  readonly machine: string;
  /** When it started, as the system counts. */
  readonly started?: string | undefined;
}

export function thisProcess(): ProcessIdentity {
  return {
    pid: process.pid,
    host: os.hostname(),
    machine: thisMachine(),
    started: processStat('self')?.started,
  };
}

/**
 * Whether a process runs. `unknown` where this one cannot see it: on another machine or in another
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

/** A host's name may change and may be another's, too; Linux has better. */
function thisMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return os.hostname();
  }
}

/** What Linux knows of a process: elsewhere its number has to do. */
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
