import { readFileSync } from 'node:fs';

/** The most memory that this process has had, in bytes. `maxRSS` begins with that of the process that started it. */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
