import { readFileSync } from 'node:fs';
import { getHeapSpaceStatistics } from 'node:v8';

/** Bytes of this process: all, and those of them that V8 sets aside for young objects. */
export interface ProcessMemory {
  readonly all: number;
  readonly young: number;
}

export function processMemory(): ProcessMemory {
  return { all: ownBytes(), young: youngBytes() };
}

/** Without the pages of mapped files, which the system takes back when it needs them. */
function ownBytes(): number {
  try {
    const [, kilobytes] =
      /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}

/** V8 changes this by itself, from 1 MiB to 32, whatever is kept. */
function youngBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => /^new_/.test(space_name))
    .reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
}
