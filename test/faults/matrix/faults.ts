import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { AccountOptions } from 'millrace';
import type { Endpoint } from 'millrace/service';
import type { Counts, Expectation } from '../part.js';
import type { Random } from '../random.js';
import { elementsIn, isItem } from './bare-client.js';
import { failDisk } from './failing-disk.js';
import type { Tampering } from './fault-proxy.js';
import { MemoryWatch } from './memory-watch.js';
import type { NamedMinutes } from './named-gaps.js';
import { COMPLIANCE_SINCE_MS, type RowName } from './pipelines.js';
import { isExpired, type Row } from './rows.js';
import { PATHS, type Sent } from './sent.js';
import { type AimSetting, aim, contentCut, fromRequest, inBody } from './service-fault.js';
import { waitAfter429 } from './wait-after-429.js';
import { NOW, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';
import type { WorldOptions } from './world.js';

export interface FaultSetting extends AimSetting {
  /** What the row reads. */
  readonly input: string;
  /** Records that the oracle's client got twice. */
  readonly repeated?: number | undefined;
  readonly out: string;
}

/** A fault that waits for its run. */
export interface Planted {
  /** How often it took effect: on the wire, on disk, or in this process. */
  hits(): number;
  readonly account?: Partial<AccountOptions> | undefined;
  /** Whether the run may also complete: a call that failed once may have been tried again. */
  readonly mayRecover?: boolean | undefined;
  /** Whether the run may also end with a typed error, as long as the next one completes it. */
  readonly mayFail?: boolean | undefined;
  /** Whether it may change what a record says in a way that nothing can tell. */
  readonly mayChange?: boolean | undefined;
  /** The minutes that gaps have to name; without it, none. */
  readonly gap?: NamedMinutes | undefined;
  /** What it hit, for messages. */
  readonly what?: (() => string) | undefined;
  /** How far the client's clock is ahead, each time that it is read; the client is not told the service's time then. */
  readonly skewMs?: (() => number) | undefined;
  readonly consume?: ((index: number, bytes?: number) => Promise<void> | void) | undefined;
  /** More that it counted. */
  readonly counts?: (() => Counts) | undefined;
  /** How long the run has waited because of it, and how long it has to, by the service's clock. */
  readonly wait?: { readonly minMs: number; waitedMs(): number } | undefined;
  /** A run after the fault cannot complete either: the service has nothing any more. */
  readonly isFinal?: boolean | undefined;
  /** Ends it, so that the run after it can complete. */
  lift(): Promise<void> | void;
}

export interface Fault {
  readonly name: string;
  /** The script runs in a process that is killed; `plant` has nothing to do. */
  readonly kill?: 'random' | 'disk call' | undefined;
  /**
   * How often a trial draws another place until the fault takes effect, where a run does not always get as far as the clean
   * one. @default 1
   */
  readonly draws?: number | undefined;
  readonly world?: ((row: Row) => WorldOptions) | undefined;
  /** What a row does about it; a text is why there is nothing to try. */
  expects(row: Row): Expectation | { readonly none: string };
  plant(setting: FaultSetting): Promise<Planted> | Planted;
}

const SINKS: readonly RowName[] = ['csv', 'parquet', 'tee'];
/** What the service sends twice, by itself. */
const REPEATING: readonly RowName[] = ['job files', 'job files, threads', 'replay', 'merge'];
const IN_THREADS: readonly RowName[] = ['stored files, threads', 'job files, threads'];
const STORED: readonly RowName[] = ['stored files', 'stored files, threads', 'applyCompliance'];

const NO_NETWORK = { none: 'reads no network' };
const NOT_SEEN = { none: 'a function of the caller keeps posts out of the threads' };
const AS_MADE = { none: 'files stay as the service made them' };
const AS_SEARCH = { none: 'its source is that of `search`, which has the cell' };

/** For faults of connections. */
const network =
  (expected: Expectation, { sinks = false } = {}) =>
  ({ name }: Row): Expectation | { readonly none: string } => {
    if (STORED.includes(name)) return NO_NETWORK;
    return SINKS.includes(name) && !sinks ? AS_SEARCH : expected;
  };

const MIB = 2 ** 20;

interface Slow {
  readonly sleepMs: number;
  readonly limitBytes?: number;
}

/**
 * A slow consumer of 40 MiB, of a job 80: how long an item takes, and how much memory the run and the service
 * may need. Counts and events of compliance are small.
 */
const SLOW: Partial<Record<RowName, Slow>> = {
  search: { sleepMs: 8, limitBytes: 24 * MIB },
  csv: { sleepMs: 8, limitBytes: 24 * MIB },
  parquet: { sleepMs: 8, limitBytes: 24 * MIB },
  tee: { sleepMs: 8, limitBytes: 24 * MIB },
  merge: { sleepMs: 5, limitBytes: 48 * MIB },
  replay: { sleepMs: 12, limitBytes: 24 * MIB },
  'job files': { sleepMs: 8, limitBytes: 64 * MIB },
  'jobs.download': { sleepMs: 100, limitBytes: 24 * MIB },
  'stored files': { sleepMs: 8, limitBytes: 48 * MIB },
};

/** The event loop is blocked for longer than a connection may be silent. */
const STARVED_MS = 600;
const STARVED_SILENCE_MS = 500;
/** Long enough that a process on a busy machine is not silent for so long itself. */
const SILENCE_MS = 800;

const fault = (
  name: string,
  expects: Fault['expects'],
  plant: Fault['plant'],
  world?: Fault['world'],
): Fault => ({ name, expects, plant, world });

const PROXIED = () => ({ proxied: true });

/** Changes one record of one response, of all from then on until it is lifted, or the stored file. */
async function spoil(
  setting: FaultSetting,
  change: (record: string, random: Random) => string,
  { isLasting = true } = {},
): Promise<Planted> {
  const { row, world, random, input, out } = setting;
  if (row.endpoints.length === 0) {
    const folder = row.name === 'applyCompliance' ? out : input;
    return spoilStored(folder, random, change);
  }
  // Of a page, an element between the first and the last.
  const isPage = ({ messages, address }: Sent) =>
    messages.length === 0 && !address.endsWith('.json.gz');
  const aimed = aim(setting, sent => sent.records > (isPage(sent) ? 2 : 0));
  const { sent, skip, endpoint } = aimed;
  const at = isPage(sent)
    ? random.whole(1, sent.records - 2)
    : random.whole(0, Math.min(5, sent.records - 1));
  let hits = 0;
  const spoilt = (record: string) => {
    const changed = change(record, random);
    if (changed !== record) hits++;
    return changed;
  };
  const tampering: Tampering = {
    path: aimed.path ?? PATHS[endpoint] ?? '',
    skip,
    times: isLasting ? Number.POSITIVE_INFINITY : 1,
    ...(isPage(sent)
      ? { document: text => changeElement(text, at, spoilt) }
      : {
          lines: (line, index) =>
            index === at ? spoilt(line.trimEnd()) + (/\r?\n$/.exec(line)?.[0] ?? '') : line,
        }),
  };
  world.proxy?.tamperings.push(tampering);
  return {
    hits: () => hits,
    lift: () => {
      tampering.times = 0;
    },
  };
}

/** Changes an element of the array of a page, but not the first or the last, which are not alone. */
function changeElement(text: string, at: number, change: (element: string) => string): string {
  const elements = elementsIn(text);
  const which = Math.min(at, elements.length - 2);
  const element = elements[which];
  if (which < 1 || element === undefined) return text;
  elements[which] = change(element);
  return elements.join(',');
}

async function spoilStored(
  folder: string,
  random: Random,
  change: (record: string, random: Random) => string,
): Promise<Planted> {
  const name = `${random.pick(['1000', '1010', '1020', '1110', '1150'])}.json.gz`;
  const file = path.join(folder, name);
  const good = await readFile(file);
  const all = gunzipSync(good).toString().split('\n');
  const at = random.whole(0, Math.max(0, all.length - 3));
  const record = (all[at] ?? '').trimEnd();
  all[at] = change(record, random);
  await writeFile(file, gzipSync(all.join('\n')));
  const hits = isItem(record) && all[at] !== record ? 1 : 0;
  return { hits: () => hits, lift: () => writeFile(file, good) };
}

/** Damages the bytes of a stored file. */
async function damageStored(
  { row, input, out, random }: FaultSetting,
  damage: (bytes: Buffer) => Buffer,
): Promise<Planted> {
  const folder = row.name === 'applyCompliance' ? out : input;
  const file = path.join(folder, `${random.pick(['1000', '1020', '1110', '1150'])}.json.gz`);
  const good = await readFile(file);
  const damaged = damage(Buffer.from(good));
  await writeFile(file, damaged);
  const hits = damaged.equals(good) ? 0 : 1;
  return { hits: () => hits, lift: () => writeFile(file, good) };
}

function onDisk(code: 'ENOSPC' | 'EIO'): Fault['plant'] {
  return async ({ row, random, clean, out }) => {
    const failing = await failDisk(out, code, random.whole(1, clean.diskCalls));
    // A download tries a file again after all others.
    const mayRecover = code === 'EIO' && row.name === 'jobs.download';
    return { ...failing, mayRecover };
  };
}

const killed = (name: string, kill: NonNullable<Fault['kill']>): Fault => ({
  name,
  kill,
  // A run may end before it is killed.
  draws: 5,
  expects: row =>
    row.name === 'compliance' && kill === 'disk call'
      ? { none: 'LMDB does not write through Node; the cell before kills it at any time' }
      : 'recovers',
  plant: () => ({ hits: () => 0, lift: () => {} }),
});

export const FAULTS: readonly Fault[] = [
  killed('kill -9 at random', 'random'),
  killed('kill -9 at a disk call', 'disk call'),
  fault('reset', network('recovers', { sinks: true }), setting =>
    inBody(setting, (afterBytes, { endpoint, sent }) =>
      isStream(endpoint) && setting.random.chance(0.5)
        ? { ...contentCut(setting.random, sent), end: 'reset' }
        : { kind: 'cut', end: 'reset', afterBytes },
    ),
  ),
  fault('early end', network('recovers'), setting =>
    inBody(setting, (afterBytes, { endpoint, sent }) =>
      isStream(endpoint)
        ? {
            ...contentCut(setting.random, sent),
            end: setting.random.pick(['close', 'finish'] as const),
          }
        : { kind: 'cut', end: 'close', afterBytes },
    ),
  ),
  fault(
    'gzip cut',
    row => (STORED.includes(row.name) ? 'error' : network('recovers')(row)),
    setting =>
      setting.row.endpoints.length === 0
        ? damageStored(setting, bytes =>
            bytes.subarray(0, setting.random.whole(1, bytes.length - 1)),
          )
        : inBody(setting, afterBytes => ({ kind: 'cut', end: 'finish', afterBytes })),
  ),
  fault(
    'gzip flip',
    row => (STORED.includes(row.name) ? 'error' : network('recovers')(row)),
    setting =>
      setting.row.endpoints.length === 0
        ? damageStored(setting, bytes => {
            // Behind the header, whose bytes mostly mean nothing.
            const at = setting.random.whole(10, bytes.length - 5);
            bytes[at] = (bytes[at] as number) ^ (1 << setting.random.whole(0, 7));
            return bytes;
          })
        : {
            ...inBody(setting, atByte => ({ kind: 'flip', atByte })),
            // A live stream has its checksum at its end: until then a record is damaged, not the gzip.
            mayFail: setting.row.name === 'compliance',
            mayChange: setting.row.name === 'compliance',
          },
  ),
  fault('stall', network('waits'), setting => ({
    ...inBody(setting, afterBytes => ({ kind: 'stall', afterBytes })),
    account: { timeouts: { silenceMs: SILENCE_MS } },
  })),
  fault(
    'stall, consumer paused',
    row => (IN_THREADS.includes(row.name) ? NOT_SEEN : network('waits')(row)),
    setting => {
      const pauseAt = setting.random.whole(0, Math.max(0, setting.clean.items - 1));
      let isPaused = false;
      const stall = inBody(setting, afterBytes => ({ kind: 'stall', afterBytes }));
      return {
        ...stall,
        hits: () => (isPaused ? stall.hits() : 0),
        account: { timeouts: { silenceMs: SILENCE_MS } },
        consume: index => {
          if (index !== pauseAt) return undefined;
          isPaused = true;
          return sleep(2 * SILENCE_MS);
        },
      };
    },
  ),
  fault('429', network('waits'), setting => {
    const { row, world } = setting;
    // Events come by the clock of the compliance trial itself; otherwise only waits move it.
    const waitedMs =
      row.name === 'compliance' ? waitAfter429(world) : () => world.service.clock.now() - NOW;
    return {
      ...fromRequest(setting, () => ({ kind: 'status', status: 429, retryAfter: 300 })),
      wait: { minMs: 300_000, waitedMs },
    };
  }),
  fault('503 five times', network('waits'), setting =>
    fromRequest(setting, endpoint => ({
      ...{ kind: 'status', status: 503 },
      // A file of a job is given up after five.
      times: endpoint === 'job-files' ? 4 : 5,
    })),
  ),
  fault('401 in the middle', network('error', { sinks: true }), setting =>
    fromRequest(setting, () => ({ kind: 'status', status: 401, times: 'always' }), {
      first: setting.row.name === 'compliance' ? 0 : 1,
    }),
  ),
  fault(
    'repeated records',
    ({ name }) => {
      if (name === 'counts') return 'error';
      if (name === 'jobs.download') return AS_MADE;
      if (name === 'applyCompliance') return { none: 'each line is judged by itself' };
      return SINKS.includes(name) ? AS_SEARCH : 'recovers';
    },
    async setting => {
      const { name } = setting.row;
      // Their service repeats posts by itself.
      if (REPEATING.includes(name)) return { hits: () => setting.repeated ?? 0, lift: () => {} };
      const separator = name.startsWith('stored') ? '\n' : name === 'compliance' ? '\r\n' : ',';
      return spoil(setting, record => record + separator + record, {
        isLasting: name === 'counts',
      });
    },
    ({ name }) => ({
      proxied: ['search', 'counts', 'compliance'].includes(name),
      repeats: REPEATING.includes(name),
    }),
  ),
  fault(
    'malformed record',
    ({ name }) => {
      if (name === 'jobs.download') return AS_MADE;
      return SINKS.includes(name) ? AS_SEARCH : 'error';
    },
    setting =>
      spoil(setting, (record, random) => {
        // A line that begins with `{`, ends with `}` and has an id is passed on as it is: records are not parsed.
        const cut = record.slice(0, random.whole(1, record.length - 2)).replace(/[}\s]+$/, '');
        return random.chance(0.7) ? cut : '{"id_str":nil}';
      }),
    ({ endpoints }) => ({ proxied: endpoints.length > 0 }),
  ),
  fault(
    'oversized record',
    ({ name }) => {
      // A member that counts do not have is ignored, and a page may have more bytes than that.
      if (name === 'counts') return 'recovers';
      if (name === 'jobs.download') return AS_MADE;
      return SINKS.includes(name) ? AS_SEARCH : 'error';
    },
    setting => spoil(setting, record => record.replace('{', `{"padding":"${PADDING}",`)),
    ({ endpoints }) => ({ proxied: endpoints.length > 0 }),
  ),
  fault(
    'split at any byte',
    network('recovers'),
    setting => {
      const { world, random } = setting;
      const most = random.pick([1, 2, 3, 7]);
      const { endpoint, skip, path } = aim(setting, ({ bytes }) => bytes > most);
      const tampering: Tampering = {
        path: path ?? PATHS[endpoint] ?? '',
        skip,
        pieces: () => random.whole(1, most),
      };
      world.proxy?.tamperings.push(tampering);
      return { hits: () => tampering.splits ?? 0, lift: () => {} };
    },
    PROXIED,
  ),
  fault(
    'consumer 100 times slower',
    ({ name }) =>
      name === 'applyCompliance'
        ? { none: 'has no consumer' }
        : IN_THREADS.includes(name)
          ? NOT_SEEN
          : 'recovers',
    async ({ row }) => {
      const slow: Slow = SLOW[row.name] ?? { sleepMs: 5 };
      const memory = await MemoryWatch.start();
      let items = 0;
      let bytes = 0;
      return {
        // A run that keeps all it has read needs more than the limit.
        hits: () => (bytes >= (slow.limitBytes ?? 0) ? items : 0),
        counts: () => ({ MiB: Math.round(bytes / MIB), 'peak MiB': Math.ceil(memory.grown / MIB) }),
        consume: async (index, size = 0) => {
          items++;
          bytes += size;
          await sleep(slow.sleepMs);
          if (slow.limitBytes !== undefined && index % 12 === 0)
            await memory.mustBeBelow(slow.limitBytes);
        },
        lift: () => {},
      };
    },
    ({ name }) => ({
      large: SLOW[name]?.limitBytes !== undefined,
      // A replay waits for its reader, a stream does not.
      service: { streamBacklogBytes: 4 * MIB },
    }),
  ),
  // How items arrive together decides how many calls there are.
  { ...fault('full disk', diskRows('error'), onDisk('ENOSPC')), draws: 5 },
  { ...fault('failing disk', diskRows('error'), onDisk('EIO')), draws: 5 },
  fault(
    'sums that lie',
    ({ name, endpoints }) => {
      if (name === 'search' || name === 'counts') return 'error';
      if (endpoints.includes('job-files')) return 'error';
      if (name === 'replay') return 'gap';
      if (name === 'merge') return { none: 'the rows of its sources have the cell' };
      if (name === 'compliance') return { none: 'the stream states no sums' };
      return SINKS.includes(name) ? AS_SEARCH : { none: 'the info line of a file is not checked' };
    },
    setting => {
      const { row, world, random } = setting;
      const by = random.pick([-2, -1, 1, 5]);
      if (row.name === 'replay') {
        const planted = fromRequest(setting, () => ({ kind: 'wrong-count', by, times: 'always' }));
        const { from, to } = WINDOWS.replay;
        const lies = { from: from + planted.skip * REPLAY_CHUNK_MS, to };
        return { ...planted, gap: { reason: 'unverified', minutes: () => lies } };
      }
      if (row.name === 'search' || row.name === 'counts') {
        const { endpoint, skip } = aim(setting, () => true);
        const isSum = row.name === 'counts' && random.chance(0.5);
        let hits = 0;
        const tampering: Tampering = {
          path: PATHS[endpoint] ?? '',
          skip,
          times: Number.POSITIVE_INFINITY,
          document: text => {
            const changed = isSum
              ? text.replace(/"totalCount":(\d+)/, (_, sum) => `"totalCount":${Number(sum) + by}`)
              : text.replace(
                  /"toDate":"(\d{11})\d"/,
                  `"toDate":"20240514000${random.whole(1, 9)}"`,
                );
            if (changed !== text) hits++;
            return changed;
          },
        };
        world.proxy?.tamperings.push(tampering);
        return {
          hits: () => hits,
          lift: () => {
            tampering.times = 0;
          },
        };
      }
      const field = random.pick(['urlCount', 'totalFileSizeBytes', 'activityCount'] as const);
      const { id } = world.service.faults.plant({
        kind: 'wrong-totals',
        times: 'always',
        [field]: by,
      });
      return {
        hits: () => world.service.faults.effects(id),
        lift: () => {
          world.service.faults.clear(id);
        },
      };
    },
    ({ name }) => ({ proxied: name === 'search' || name === 'counts' }),
  ),
  fault(
    'expired addresses',
    ({ endpoints }) =>
      endpoints.includes('job-files')
        ? 'recovers'
        : { none: 'only the files of jobs have addresses that expire' },
    ({ random, world: { proxy, service } }) => {
      const at = random.whole(0, 2);
      let files = 0;
      let refused = 0;
      // Their addresses are good for a minute; this run takes longer.
      if (proxy !== undefined)
        proxy.onResponse = ({ path, status }) => {
          if (!path.includes(PATHS['job-files'] as string)) return;
          if (status === 403) refused++;
          else if (files++ % 3 === at) service.clock.advance(5 * 60_000);
        };
      return { hits: () => refused, lift: () => {} };
    },
    () => ({ proxied: true, service: { fileUrlMs: 60_000 } }),
  ),
  fault(
    'expired window or results',
    ({ name, endpoints }) => {
      if (name === 'replay' || name === 'compliance') return 'gap';
      if (endpoints.includes('job-files')) return 'error';
      if (name === 'merge') return { none: 'the row `replay` has the cell' };
      return { none: 'does not expire' };
    },
    async ({ row, world, random, input }) => {
      const { clock } = world.service;
      const DAY = 24 * 3_600_000;
      if (row.name === 'replay') {
        // A part of the window is older than five days, or will be before it is read.
        const { from, to } = WINDOWS.replay;
        clock.set(random.whole(from + 2 * 60_000, to) + 5 * DAY);
      } else if (row.name === 'compliance') clock.advance(random.whole(5, 9) * DAY);
      else clock.advance(16 * DAY);
      const isRefused = await isExpired(world.addresses, row.name, input);
      // Events may come a minute late, so a run that begins in the past asks for a minute more.
      const from = row.name === 'replay' ? WINDOWS.replay.from : NOW - COMPLIANCE_SINCE_MS - 60_000;
      const minutes = () => ({ from, to: clock.now() - 5 * DAY });
      const gap = row.endpoints.includes('replay') ? { reason: 'expired', minutes } : undefined;
      return { hits: () => Number(isRefused), isFinal: true, gap, lift: () => {} };
    },
  ),
  fault('clock an hour off', network('recovers'), ({ random }) => {
    const skewMs = random.pick([-1, 1]) * random.whole(3_000_000, 3_600_000);
    let reads = 0;
    return {
      hits: () => reads,
      skewMs: () => {
        reads++;
        return skewMs;
      },
      lift: () => {},
    };
  }),
  fault(
    'starved of CPU',
    () => 'recovers',
    setting => {
      const { row, random } = setting;
      let blocks = 0;
      const block = () => {
        const until = performance.now() + random.whole(STARVED_MS, STARVED_MS + 100);
        while (performance.now() < until);
        blocks++;
      };
      if (row.endpoints.length === 0) {
        const timer = setTimeout(block, random.whole(0, 10));
        return { hits: () => blocks, lift: () => clearTimeout(timer) };
      }
      // In the middle of a body: its rest is there before the client can read it.
      const pause = inBody(setting, afterBytes => ({ kind: 'stall', afterBytes, forMs: 20 }));
      const timer = setInterval(() => {
        if (pause.hits() === 0) return;
        clearInterval(timer);
        block();
      }, 2);
      return {
        hits: () => blocks,
        account: { timeouts: { silenceMs: STARVED_SILENCE_MS } },
        lift: () => {
          clearInterval(timer);
          pause.lift();
        },
      };
    },
  ),
];

function diskRows(expected: Expectation) {
  return ({ name }: Row): Expectation | { readonly none: string } => {
    if (name === 'compliance')
      return { none: 'LMDB does not write through Node; a test has a file that cannot grow' };
    return expected;
  };
}

/** More than the 16 MiB that a record may have, and not so uniform that its gzip is refused. */
const PADDING = Array.from({ length: 600_000 }, (_, index) =>
  index.toString(36).padStart(30, 'x'),
).join('');

function isStream(endpoint: Endpoint): boolean {
  return endpoint === 'replay' || endpoint === 'compliance';
}
