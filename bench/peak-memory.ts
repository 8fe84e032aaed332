import { readFileSync } from 'node:fs';

/**
 * Returns the peak memory of this process in bytes. On Linux, `maxRSS` is not used, because it
 * starts with the value of the parent process.
 */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
