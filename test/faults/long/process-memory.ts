import { readFileSync } from 'node:fs';
import { getHeapSpaceStatistics } from 'node:v8';

/**
 * The memory of this process in bytes: the total, and the part that V8 reserves for young objects.
 */
export interface ProcessMemory {
  readonly all: number;
  readonly young: number;
}

export function processMemory(): ProcessMemory {
  return { all: ownBytes(), young: youngBytes() };
}

/**
 * Returns the memory of the process. Excludes pages of mapped files, which the system reclaims when
 * it needs memory.
 */
function ownBytes(): number {
  try {
    const [, kilobytes] =
      /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}

/**
 * Returns the size of the space for young objects. V8 itself changes this size between 1 MiB and 32
 * MiB, regardless of live objects.
 */
function youngBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => /^new_/.test(space_name))
    .reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
}
