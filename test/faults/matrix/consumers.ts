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
  /** Items between two looks at the memory. @default 12 */
  readonly every?: number;
}

/** How long an item takes where items are small, or few. */
const SMALL_MS = 5;

/** Of a compliance event: a few are more than the service keeps for a stream that is read too slowly. */
export const LARGE_EVENT_BYTES = 1_000_000;

/**
 * A slow consumer of 40 MiB, of a job 80: how long an item takes, and how much memory the run and the service
 * may need. Counts are small.
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
export const consumeSlowly: Fault['plant'] = async setting => {
  const { row } = setting;
  if (row.name === 'compliance') return fallBehind(setting);
  const { sleepMs, limitBytes = 0, every = 12 } = SLOW[row.name] ?? { sleepMs: SMALL_MS };
  const memory = await MemoryWatch.start();
  let items = 0;
  let bytes = 0;
  let looks = 0;
  return {
    // A run that keeps all it has read needs more than the limit.
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
 * Takes large events so slowly that the service ends the stream, and replays have the rest. The service keeps them in
 * memory itself, so that is not measured.
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

/** Large posts, where the memory of the row has a limit. */
export const slowWorld: Fault['world'] = ({ name }) => ({
  large: SLOW[name]?.limitBytes !== undefined,
  // A replay waits for its reader, a stream does not.
  service: { streamBacklogBytes: 4 * MIB },
});

/** Each item takes so long, so that the next page, file or chunk is on its way before the consumer needs it. */
const PACE_MS = 5;

/**
 * A stall, and a consumer that pauses once it has taken effect, for longer than a connection may be silent. It counts
 * if the connection is still stalled when the pause begins.
 */
export function stallWhilePaused(setting: AimSetting, silenceMs: number): Planted {
  const { row, world, clean } = setting;
  // The listing of a job comes before its files, and is not consumed.
  const sources = row.endpoints
    .filter(endpoint => endpoint !== 'jobs')
    .map(endpoint => clean.sent.get(endpoint) ?? []);
  const [sent = []] = sources;
  // A single source delivers nothing before its first page, file or chunk has arrived.
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
