import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryWatch } from '../../memory-watch.js';
import type { Fault, FaultSetting, Planted } from './fault.js';
import type { RowName } from './pipelines.js';
import { PATHS } from './sent.js';
import { type AimSetting, inBody } from './service-fault.js';

const MIB = 2 ** 20;

interface Slow {
  readonly sleepMs: number;
  readonly limitBytes?: number;
  readonly every?: number;
}

/** The delay per item, in ms, for pipelines with small items or few items. */
const SMALL_MS = 5;

/**
 * The size of a compliance event. A few of these exceed what the service buffers for a slow reader.
 */
export const LARGE_EVENT_BYTES = 1_000_000;

/**
 * For each pipeline, how long a slow consumer takes per item, and a memory limit for the run
 * together with the service. A slow consumer reads 40 MiB, or 80 MiB from a job. Pipelines without
 * an entry, such as `counts` and `engagement`, deliver too little data for such a limit.
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
  // The items of a download are its twelve files.
  'jobs.download': { sleepMs: 100, limitBytes: 24 * MIB, every: 1 },
  'stored files': { sleepMs: 8, limitBytes: 48 * MIB },
};

export const consumeSlowly: Fault['plant'] = async setting => {
  const { row } = setting;
  if (row.name === 'compliance') return fallBehind(setting);
  const { sleepMs, limitBytes = 0, every = 12 } = SLOW[row.name] ?? { sleepMs: SMALL_MS };
  const memory = await MemoryWatch.start();
  let items = 0;
  let bytes = 0;
  let looks = 0;
  return {
    // The fault counts only if a run that keeps everything in memory would exceed the limit.
    hits: () => (bytes >= limitBytes ? items : 0),
    counts: () => ({
      MiB: Math.round(bytes / MIB),
      'grown MiB': Math.ceil(memory.grown / MIB),
      ...(limitBytes > 0 && { 'times measured': looks }),
    }),
    consume: async (index, size = 0) => {
      items++;
      bytes += size;
      await sleep(sleepMs);
      if (limitBytes === 0 || index % every !== 0) return;
      looks++;
      await memory.mustBeBelow(limitBytes);
    },
    lift: () => {},
  };
};

/**
 * Consumes large events so slowly that the service ends the stream, so replays deliver the rest.
 * Memory is not measured, because the service itself buffers events in memory.
 */
function fallBehind({ world }: FaultSetting): Planted {
  let connections = 0;
  world.service.on('request', ({ url = '' }) => {
    if (url.includes(PATHS.compliance as string)) connections++;
  });
  return {
    hits: () => Math.max(0, connections - 1),
    consume: () => sleep(SMALL_MS),
    lift: () => {},
  };
}

export const slowWorld: Fault['world'] = ({ name }) => ({
  large: SLOW[name]?.limitBytes !== undefined,
  // A replay waits for a slow reader, but the service ends a stream whose reader falls behind by
  // more than this.
  service: { streamBacklogBytes: 4 * MIB },
});

/**
 * The delay per item. It is so long that the next page, file or chunk is requested before the
 * consumer needs it.
 */
const PACE_MS = 5;

/**
 * Stalls a connection. As soon as the stall takes effect, the consumer pauses for longer than a
 * connection may be silent. The fault counts only if the connection is still stalled when the pause
 * starts.
 */
export function stallWhilePaused(setting: AimSetting, silenceMs: number): Planted {
  const { row, world, clean } = setting;
  // The list of a job's files is read before any item is consumed, so it does not count as a
  // source.
  const sources = row.endpoints
    .filter(endpoint => endpoint !== 'jobs')
    .map(endpoint => clean.sent.get(endpoint) ?? []);
  const [sent = []] = sources;
  // If there is a single source, it delivers nothing before its first page, file or chunk has
  // arrived. The fault must come later than that.
  const first = sources.length === 1 && sent.length > 1 ? sent[0] : undefined;
  const stall = inBody(
    setting,
    afterBytes => ({ kind: 'stall', afterBytes }),
    one => one.bytes > 0 && one !== first && sources.some(all => all.includes(one)),
  );
  let isGivenUp = false;
  world.service.on('request', (_, response) => {
    response.on('close', () => {
      if (stall.hits() > 0 && !response.writableFinished) isGivenUp = true;
    });
  });
  let hits = 0;
  return {
    hits: () => hits,
    account: { timeouts: { silenceMs } },
    consume: async () => {
      await sleep(PACE_MS);
      if (hits > 0 || stall.hits() === 0 || isGivenUp) return;
      hits++;
      await sleep(2 * silenceMs);
    },
    lift: stall.lift,
  };
}
