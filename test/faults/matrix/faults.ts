import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { AccountOptions } from 'millrace';
import type { Endpoint, Fault as ServiceFault } from 'millrace/service';
import type { Expectation } from '../part.js';
import type { Random } from '../random.js';
import { diskError, watchDisk } from './failing-disk.js';
import type { Tampering } from './fault-proxy.js';
import type { NamedMinutes } from './named-gaps.js';
import { COMPLIANCE_SINCE_MS, type RowName } from './pipelines.js';
import type { Row } from './rows.js';
import { NOW, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';
import type { World, WorldOptions } from './world.js';

/** What a clean run of the row did: where a fault can be. */
export interface Clean {
  /** Requests by family of endpoints. */
  readonly requests: ReadonlyMap<Endpoint, number>;
  /** Calls that changed a file. */
  readonly diskCalls: number;
  readonly items: number;
}

export interface FaultSetting {
  readonly row: Row;
  readonly world: World;
  readonly random: Random;
  readonly clean: Clean;
  /** What the row reads. */
  readonly input: string;
  readonly out: string;
}

/** A fault that waits for its run. */
export interface Planted {
  /** How often it took effect. */
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
  /** How far the client's clock is ahead; the client is not told the service's time then. */
  readonly skewMs?: number | undefined;
  readonly consume?: ((index: number) => Promise<void> | void) | undefined;
  /** The library has to wait for at least so long, by its clock. */
  readonly waitedMs?: number | undefined;
  /** What the error must look like, besides that it is typed. */
  readonly error?: RegExp | undefined;
  /** A run after the fault cannot complete either: the service has nothing any more. */
  readonly isFinal?: boolean | undefined;
  /** Ends it, so that the run after it can complete. */
  lift(): Promise<void> | void;
}

export interface Fault {
  readonly name: string;
  /** The script runs in a process that is killed; `plant` has nothing to do. */
  readonly kill?: 'random' | 'disk call' | undefined;
  readonly world?: ((row: Row) => WorldOptions) | undefined;
  /** What a row does about it; a text is why there is nothing to try. */
  expects(row: Row): Expectation | { readonly none: string };
  plant(setting: FaultSetting): Promise<Planted> | Planted;
}

const SINKS: readonly RowName[] = ['csv', 'parquet', 'tee'];
const STORED: readonly RowName[] = ['stored files', 'stored files, threads', 'applyCompliance'];

const NO_NETWORK = { none: 'reads no network' };
const AS_MADE = { none: 'files stay as the service made them' };
const AS_SEARCH = { none: 'its source is that of `search`, which has the cell' };

/** For faults of connections. */
const network =
  (expected: Expectation, { sinks = false } = {}) =>
  ({ name }: Row): Expectation | { readonly none: string } => {
    if (STORED.includes(name)) return NO_NETWORK;
    return SINKS.includes(name) && !sinks ? AS_SEARCH : expected;
  };

/** What a body has on the wire, about. */
const BODY_BYTES: Partial<Record<Endpoint, number>> = {
  search: 6_000,
  counts: 500,
  'job-files': 7_000,
  replay: 12_000,
  compliance: 300,
};
/** Long enough that a process on a busy machine is not silent for so long itself. */
const SILENCE_MS = 800;

/** A fault of the service at a random request of the row. */
function atService(
  { row, world, random, clean }: FaultSetting,
  make: (endpoint: Endpoint, bytes: number) => ServiceFault,
  { first = 0 } = {},
): Pick<Planted, 'hits' | 'lift'> & { readonly skip: number } {
  const endpoint = random.pick(row.endpoints.filter(one => (clean.requests.get(one) ?? 0) > first));
  const requests = clean.requests.get(endpoint) ?? 1;
  const bytes = random.whole(0, BODY_BYTES[endpoint] ?? 1_000);
  // The compliance stream is one request, which lasts.
  const skip = endpoint === 'compliance' ? 0 : random.whole(first, requests - 1);
  const fault = { endpoint, skip, ...make(endpoint, bytes) } as ServiceFault;
  const { id } = world.service.faults.plant(fault);
  return {
    skip,
    hits: () => {
      const left = world.service.faults.list().find(planted => planted.id === id);
      // A fault that has hit as often as it should is gone.
      return left?.hits ?? 1;
    },
    lift: () => {
      world.service.faults.clear(id);
    },
  };
}

const fault = (
  name: string,
  expects: Fault['expects'],
  plant: Fault['plant'],
  world?: Fault['world'],
): Fault => ({ name, expects, plant, world });

const PROXIED = () => ({ proxied: true });

/** In the addresses of the row's requests. */
const PATHS: Partial<Record<Endpoint, string>> = {
  search: '/search/fullarchive/accounts/local/dev.json',
  counts: '/counts.json',
  'job-files': '_activities.json.gz',
  replay: '/replay/firehose/',
  compliance: '/streams/compliance/',
};

/** Changes one record of one response, of all from then on until it is lifted, or the stored file. */
async function spoil(
  setting: FaultSetting,
  change: (record: string, random: Random) => string,
  { isLasting = true } = {},
): Promise<Planted> {
  const { row, world, random, clean, input, out } = setting;
  if (row.endpoints.length === 0) {
    const folder = row.name === 'applyCompliance' ? out : input;
    return spoilStored(folder, random, change);
  }
  const endpoint = row.name === 'merge' ? random.pick(row.endpoints) : row.endpoints[0];
  const isPage = endpoint === 'search' || endpoint === 'counts';
  const at = row.name === 'compliance' ? 0 : random.whole(0, 5);
  let hits = 0;
  const spoilt = (record: string) => {
    hits++;
    return change(record, random);
  };
  const requests = clean.requests.get(endpoint as Endpoint) ?? 1;
  const tampering: Tampering = {
    path: PATHS[endpoint as Endpoint] ?? '',
    skip: isPage || endpoint === 'job-files' ? random.whole(0, requests - 1) : 0,
    times: isLasting ? Number.POSITIVE_INFINITY : 1,
    ...(isPage
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

/** Changes an element of the array of a page: one between the first and the last, which are not alone. */
function changeElement(text: string, at: number, change: (element: string) => string): string {
  const elements = text.split(/(?<=\}),(?=\{"(?:created_at|timePeriod))/);
  const which = Math.max(1, Math.min(at, elements.length - 2));
  const element = elements[which];
  if (element === undefined || which === elements.length - 1) return text;
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
  all[at] = change((all[at] ?? '').trimEnd(), random);
  await writeFile(file, gzipSync(all.join('\n')));
  return { hits: () => 1, lift: () => writeFile(file, good) };
}

/** Damages the bytes of a stored file. */
async function damageStored(
  { row, input, out, random }: FaultSetting,
  damage: (bytes: Buffer) => Buffer,
): Promise<Planted> {
  const folder = row.name === 'applyCompliance' ? out : input;
  const file = path.join(folder, `${random.pick(['1000', '1020', '1110', '1150'])}.json.gz`);
  const good = await readFile(file);
  await writeFile(file, damage(Buffer.from(good)));
  return { hits: () => 1, lift: () => writeFile(file, good) };
}

function failDisk(code: 'ENOSPC' | 'EIO'): Fault['plant'] {
  return async ({ row, random, clean, out }) => {
    const at = random.whole(1, clean.diskCalls);
    let calls = 0;
    let hits = 0;
    let failed = '';
    const stop = await watchDisk(out, (call, file) => {
      if (call === 'mkdir') return;
      calls++;
      // A full disk stays full; a failing sector fails once. Removing works on both, and so does finding
      // that a folder is there.
      const fails = code === 'ENOSPC' ? calls >= at && call !== 'unlink' : calls === at;
      if (!fails) return;
      hits++;
      failed ||= `${call} ${path.relative(out, file)}`;
      throw diskError(code, call, file);
    });
    // A download tries a file again after all others.
    const mayRecover = code === 'EIO' && row.name === 'jobs.download';
    return { hits: () => hits, what: () => failed, mayRecover, lift: stop };
  };
}

const killed = (name: string, kill: NonNullable<Fault['kill']>): Fault => ({
  name,
  kill,
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
    atService(setting, (endpoint, afterBytes) =>
      isStream(endpoint) && setting.random.chance(0.5)
        ? { kind: 'content-cut', end: 'reset', ...contentCut(setting.random) }
        : ({ kind: 'cut', end: 'reset', afterBytes } as ServiceFault),
    ),
  ),
  fault('early end', network('recovers'), setting =>
    atService(setting, (endpoint, afterBytes) =>
      isStream(endpoint)
        ? {
            kind: 'content-cut',
            end: setting.random.pick(['close', 'finish'] as const),
            ...contentCut(setting.random),
          }
        : ({ kind: 'cut', end: 'close', afterBytes } as ServiceFault),
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
        : atService(
            setting,
            (_, afterBytes) => ({ kind: 'cut', end: 'finish', afterBytes }) as ServiceFault,
          ),
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
            ...atService(setting, (_, bytes) => ({ kind: 'flip', atByte: bytes }) as ServiceFault),
            // A live stream has its checksum at its end: until then a record is damaged, not the gzip.
            mayFail: setting.row.name === 'compliance',
            mayChange: setting.row.name === 'compliance',
          },
  ),
  fault('stall', network('waits'), setting => ({
    ...atService(setting, (_, afterBytes) => ({ kind: 'stall', afterBytes }) as ServiceFault),
    account: { timeouts: { silenceMs: SILENCE_MS } },
  })),
  fault('stall, consumer paused', network('waits'), setting => {
    const pauseAt = setting.random.whole(0, Math.max(0, setting.clean.items - 1));
    return {
      ...atService(setting, (_, afterBytes) => ({ kind: 'stall', afterBytes }) as ServiceFault),
      account: { timeouts: { silenceMs: SILENCE_MS } },
      consume: index => (index === pauseAt ? sleep(2 * SILENCE_MS) : undefined),
    };
  }),
  fault('429', network('waits'), setting => ({
    ...atService(setting, () => ({ kind: 'status', status: 429, retryAfter: 300 }) as ServiceFault),
    waitedMs: 300_000,
  })),
  fault('503 five times', network('waits'), setting =>
    atService(
      setting,
      endpoint =>
        ({ kind: 'status', status: 503, times: endpoint === 'job-files' ? 4 : 5 }) as ServiceFault,
    ),
  ),
  fault('401 in the middle', network('error', { sinks: true }), setting =>
    atService(setting, () => ({ kind: 'status', status: 401, times: 'always' }) as ServiceFault, {
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
      if (name === 'job files' || name === 'replay') return { hits: () => 1, lift: () => {} };
      const separator = name.startsWith('stored') ? '\n' : name === 'compliance' ? '\r\n' : ',';
      if (name === 'merge') return { hits: () => 1, lift: () => {} };
      return spoil(setting, record => record + separator + record, {
        isLasting: name === 'counts',
      });
    },
    ({ name }) => ({
      proxied: ['search', 'counts', 'compliance'].includes(name),
      repeats: ['job files', 'replay', 'merge'].includes(name),
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
    ({ row, world, random, clean }) => {
      const endpoint = random.pick(row.endpoints);
      const most = random.pick([1, 2, 3, 7]);
      const tampering = {
        path: PATHS[endpoint] ?? '',
        skip: random.whole(0, (clean.requests.get(endpoint) ?? 1) - 1),
        pieces: () => random.whole(1, most),
        hits: 0,
      };
      if (row.name === 'compliance') {
        tampering.path = PATHS.compliance ?? '';
        tampering.skip = 0;
      }
      world.proxy?.tamperings.push(tampering);
      return { hits: () => tampering.hits, lift: () => {} };
    },
    PROXIED,
  ),
  fault(
    'consumer 100 times slower',
    ({ name }) =>
      name === 'applyCompliance'
        ? { none: 'has no consumer' }
        : name === 'stored files, threads'
          ? { none: 'a function of the caller keeps posts out of the threads' }
          : 'recovers',
    ({ row }) => {
      let hits = 0;
      // A post takes about 50 µs without it.
      return {
        hits: () => hits,
        consume: () => {
          hits++;
          return sleep(row.name === 'jobs.download' ? 20 : 5);
        },
        lift: () => {},
      };
    },
    // The service does not wait long for a stream that is not read.
    () => ({ service: { streamBacklogBytes: 64 * 1024 } }),
  ),
  fault('full disk', diskRows('error'), failDisk('ENOSPC')),
  fault('failing disk', diskRows('error'), failDisk('EIO')),
  fault(
    'sums that lie',
    ({ name }) => {
      if (name === 'search' || name === 'counts') return 'error';
      if (name === 'job files' || name === 'jobs.download') return 'error';
      if (name === 'replay') return 'gap';
      if (name === 'merge') return { none: 'the rows of its sources have the cell' };
      if (name === 'compliance') return { none: 'the stream states no sums' };
      return SINKS.includes(name) ? AS_SEARCH : { none: 'the info line of a file is not checked' };
    },
    setting => {
      const { row, world, random } = setting;
      const by = random.pick([-2, -1, 1, 5]);
      if (row.name === 'replay') {
        const planted = atService(setting, () => ({ kind: 'wrong-count', by, times: 'always' }));
        const { from, to } = WINDOWS.replay;
        const lies = { from: from + planted.skip * REPLAY_CHUNK_MS, to };
        return { ...planted, gap: { reason: 'unverified', minutes: () => lies } };
      }
      if (row.name === 'search' || row.name === 'counts') {
        const tampering = {
          path: PATHS[row.endpoints[0] as Endpoint] ?? '',
          skip: row.name === 'search' ? random.whole(0, 4) : random.whole(0, 1),
          times: Number.POSITIVE_INFINITY,
          hits: 0,
          document: (text: string) =>
            row.name === 'counts' && random.chance(0.5)
              ? text.replace(/"totalCount":(\d+)/, (_, sum) => `"totalCount":${Number(sum) + by}`)
              : text.replace(
                  /"toDate":"(\d{11})\d"/,
                  `"toDate":"20240514000${random.whole(1, 9)}"`,
                ),
        };
        world.proxy?.tamperings.push(tampering);
        return {
          hits: () => tampering.hits,
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
        hits: () => 1,
        lift: () => {
          world.service.faults.clear(id);
        },
      };
    },
    ({ name }) => ({ proxied: name === 'search' || name === 'counts' }),
  ),
  fault(
    'expired addresses',
    ({ name }) =>
      name === 'job files' || name === 'jobs.download'
        ? 'recovers'
        : { none: 'only the files of jobs have addresses that expire' },
    ({ random, world }) => {
      const at = random.whole(0, 4);
      let hits = 0;
      // Their addresses are good for a minute; this run takes longer.
      return {
        hits: () => hits,
        consume: index => {
          if (index % 5 !== at) return;
          hits++;
          world.service.clock.advance(5 * 60_000);
        },
        account: { timeouts: {} },
        lift: () => {},
      };
    },
    () => ({ service: { fileUrlMs: 60_000 } }),
  ),
  fault(
    'expired window or results',
    ({ name }) => {
      if (name === 'replay' || name === 'compliance') return 'gap';
      if (name === 'job files' || name === 'jobs.download') return 'error';
      if (name === 'merge') return { none: 'the row `replay` has the cell' };
      return { none: 'does not expire' };
    },
    ({ row, world, random }) => {
      const { clock } = world.service;
      const DAY = 24 * 3_600_000;
      if (row.name === 'replay') {
        // A part of the window is older than five days, or will be before it is read.
        const { from, to } = WINDOWS.replay;
        clock.set(random.whole(from + 2 * 60_000, to) + 5 * DAY);
      } else if (row.name === 'compliance') clock.advance(random.whole(4, 9) * DAY);
      else clock.advance(16 * DAY);
      // Events may come a minute late, so a run that begins in the past asks for a minute more.
      const from = row.name === 'replay' ? WINDOWS.replay.from : NOW - COMPLIANCE_SINCE_MS - 60_000;
      const minutes = () => ({ from, to: clock.now() - 5 * DAY });
      const gap = row.endpoints.includes('replay') ? { reason: 'expired', minutes } : undefined;
      return { hits: () => 1, isFinal: true, gap, lift: () => {} };
    },
  ),
  fault('clock an hour off', network('recovers'), ({ random }) => ({
    hits: () => 1,
    skewMs: random.pick([-1, 1]) * random.whole(3_000_000, 3_600_000),
    lift: () => {},
  })),
  fault(
    'starved of CPU',
    () => 'recovers',
    ({ random }) => {
      let hits = 0;
      const timer = setInterval(() => {
        // A dozen, or a trial takes many seconds.
        if (++hits > 12) return;
        const until = performance.now() + random.whole(5, 40);
        while (performance.now() < until);
      }, 2);
      return { hits: () => hits, lift: () => clearInterval(timer) };
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

/** More than the 16 MiB that a record may have. */
const PADDING = 'x'.repeat(17 * 1024 * 1024);

function isStream(endpoint: Endpoint): boolean {
  return endpoint === 'replay' || endpoint === 'compliance';
}

function contentCut(random: Random) {
  return {
    afterMessages: random.whole(0, 20),
    within: random.pick(['message', 'character', 'boundary'] as const),
  };
}
