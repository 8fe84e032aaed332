import { readFileSync } from 'node:fs';

/**
 * Returns the memory of this process in megabytes. Pages of mapped files are not counted, because
 * the system drops them when it needs memory. On systems that do not count mapped files separately,
 * returns all memory.
 */
export function ownMegabytes(): number {
  try {
    const own = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (own !== undefined) return Number(own) / 1024;
  } catch {} // This system is not Linux.
  return process.memoryUsage().rss / 1024 ** 2;
}
