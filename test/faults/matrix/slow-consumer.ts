import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.js';
import { MemoryWatch } from './memory-watch.js';
import type { RowName } from './pipelines.js';

const MIB = 2 ** 20;

interface Slow {
  readonly sleepMs: number;
  readonly limitBytes?: number;
  /** Items between two looks at the memory. @default 12 */
  readonly every?: number;
}

/**
 * A slow consumer of 40 MiB, of a job 80: how long an item takes, and how much memory the run and the service
 * may need. Counts and events of compliance are small.
 */
const SLOW: Partial<Record<RowName, Slow>> = {
  search: { sleepMs: 8, limitBytes: 24 * MIB },
  'gzip files': { sleepMs: 8, limitBytes: 24 * MIB },
  csv: { sleepMs: 8, limitBytes: 24 * MIB },
  parquet: { sleepMs: 8, limitBytes: 24 * MIB },
  tee: { sleepMs: 8, limitBytes: 24 * MIB },
  merge: { sleepMs: 5, limitBytes: 48 * MIB },
  replay: { sleepMs: 12, limitBytes: 24 * MIB },
  'job files': { sleepMs: 8, limitBytes: 64 * MIB },
  // Its items are files, and there are twelve of them.
  'jobs.download': { sleepMs: 100, limitBytes: 24 * MIB, every: 1 },
  'stored files': { sleepMs: 8, limitBytes: 48 * MIB },
};

/** Takes each item slowly, and fails the run once it needs more memory than its row may. */
export const consumeSlowly: Fault['plant'] = async ({ row }) => {
  const slow: Slow = SLOW[row.name] ?? { sleepMs: 5 };
  const memory = await MemoryWatch.start();
  let items = 0;
  let bytes = 0;
  let looks = 0;
  return {
    // A run that keeps all it has read needs more than the limit.
    hits: () => (bytes >= (slow.limitBytes ?? 0) ? items : 0),
    counts: () => ({
      MiB: Math.round(bytes / MIB),
      'grown MiB': Math.ceil(memory.grown / MIB),
      ...(slow.limitBytes !== undefined && { 'times measured': looks }),
    }),
    consume: async (index, size = 0) => {
      items++;
      bytes += size;
      await sleep(slow.sleepMs);
      if (slow.limitBytes === undefined || index % (slow.every ?? 12) !== 0) return;
      looks++;
      await memory.mustBeBelow(slow.limitBytes);
    },
    lift: () => {},
  };
};

/** Large posts, where the memory of the row has a limit. */
export const slowWorld: Fault['world'] = ({ name }) => ({
  large: SLOW[name]?.limitBytes !== undefined,
  // A replay waits for its reader, a stream does not.
  service: { streamBacklogBytes: 4 * MIB },
});
