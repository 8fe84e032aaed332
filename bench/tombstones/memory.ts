import { readFileSync } from 'node:fs';

/**
 * Megabytes of the process's own memory. Not with the pages of a mapped file, which the system drops
 * when it needs room; where it does not tell them apart, all of them.
 */
export function ownMegabytes(): number {
  try {
    const own = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (own !== undefined) return Number(own) / 1024;
  } catch {} // not Linux
  return process.memoryUsage().rss / 1024 ** 2;
}
