import { readFileSync } from 'node:fs';

/**
 * Returns the memory of this process in megabytes, without the pages of mapped files, which the
 * system drops when it needs room. On systems that do not distinguish these, returns all memory.
 */
export function ownMegabytes(): number {
  try {
    const own = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (own !== undefined) return Number(own) / 1024;
  } catch {} // not Linux
  return process.memoryUsage().rss / 1024 ** 2;
}
