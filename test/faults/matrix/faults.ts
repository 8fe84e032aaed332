import type { Endpoint } from 'millrace/service';
import type { Counts, Expectation } from '../part.js';
import { BURST_EVENTS } from './compliance.js';
import { consumeSlowly, LARGE_EVENT_BYTES, slowWorld, stallWhilePaused } from './consumers.js';
import { isExpired } from './expected.js';
import { failDisk, watchDisk } from './failing-disk.js';
import type { Fault, FaultSetting, Planted } from './fault.js';
import type { Tampering } from './fault-proxy.js';
import { lieAboutSums } from './lying-sums.js';
import { ONLY_KILLED } from './only-killed.js';
import { IN_THREADS, type RowName } from './pipelines.js';
import type { Row } from './rows.js';
import { PATHS } from './sent.js';
import { aim, contentCut, fromRequest, inBody, plant, waitAfter429 } from './service-fault.js';
import { damageStored, spoilRecord } from './spoil-record.js';
import { threadMessages } from './watched-thread.js';
import { COMPLIANCE_SINCE_MS, LATE_MS, NOW, WINDOWS } from './windows.js';

const SINKS: readonly RowName[] = ['gzip files', 'csv', 'parquet', 'tee'];
/** Pipelines whose service already sends posts twice. */
const REPEATING: readonly RowName[] = ['job files', 'job files, threads', 'replay', 'merge'];
const STORED: readonly RowName[] = [
  'stored files',
  'stored files, threads',
  'stored files, gzip by threads',
  'stored files, csv by threads',
  'stored files, parquet by threads',
  'stored files, tee by threads',
  'stored files, deletions by threads',
  'stored files, rules by threads',
  'applyCompliance',
];

const NO_NETWORK = { none: 'reads no network' };
const NOT_SEEN = { none: 'a function of the caller keeps posts out of the threads' };
const AS_MADE = { none: 'files stay as the service made them' };
const AS_SEARCH = { none: 'its source is that of `search`, which has the cell' };

const network =
  (expected: Expectation, { sinks = false } = {}) =>
  ({ name }: Row): Expectation | { readonly none: string } => {
    if (STORED.includes(name)) return NO_NETWORK;
    return SINKS.includes(name) && !sinks ? AS_SEARCH : expected;
  };

/** The event loop is blocked for this long, which is longer than a connection may be silent. */
const STARVED_MS = 600;
const STARVED_SILENCE_MS = 500;
/**
 * A connection may be silent for this long. Without a fault, a process on a busy machine is never
 * silent for so long.
 */
const SILENCE_MS = 800;

const fault = (
  name: string,
  expects: Fault['expects'],
  plant: Fault['plant'],
  world?: Fault['world'],
): Fault => ({ name, expects, plant, world });

const PROXIED = () => ({ proxied: true });

function onDisk(code: 'ENOSPC' | 'EIO'): Fault['plant'] {
  return async ({ row, random, clean, out }) => {
    const ofThreads = clean.threadWrites > 0 && random.chance(0.5);
    const at = random.whole(1, ofThreads ? clean.threadWrites : clean.diskCalls);
    const failing = await failDisk(out, code, at, { ofThreads });
    // A download retries a failed file after all other files.
    const mayRecover = code === 'EIO' && row.name === 'jobs.download';
    const counts = (): Counts =>
      clean.threadWrites === 0 ? {} : { 'writes of threads': Number(failing.isInThread()) };
    return { ...failing, mayRecover, counts };
  };
}

/**
 * Ends a worker thread as if it had run out of memory. Another thread may then read the same data
 * again.
 */
async function endThread(out: string, atMessage: number): Promise<Planted> {
  const stop = await watchDisk(out, () => {});
  let messages = 0;
  let hits = 0;
  threadMessages.onMessage = thread => {
    if (++messages !== atMessage) return;
    hits++;
    void thread.terminate();
  };
  const lift = () => {
    delete threadMessages.onMessage;
    stop();
  };
  return { hits: () => hits, mayRecover: true, what: () => `message ${atMessage}`, lift };
}

const killed = (name: string, kill: NonNullable<Fault['kill']>): Fault => ({
  name,
  kill,
  // A run may end before the process is killed, so a trial has several attempts.
  draws: 5,
  expects: row => {
    if (kill === 'commit' && row.name !== 'stored files, threads')
      return { none: 'only threads write while a commit is under way, all in the same way' };
    return row.name === 'compliance' && kill === 'disk call'
      ? {
          none: 'LMDB does not write through Node: `disks` kills it at each call, `tombstones/kill`',
        }
      : 'recovers';
  },
  plant: () => ({ hits: () => 0, lift: () => {} }),
});

const TRIED: readonly Fault[] = [
  killed('kill -9 at random', 'random'),
  killed('kill -9 at a disk call', 'disk call'),
  killed('kill -9 at a commit', 'commit'),
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
            // The flipped bit is after the gzip header, because most bytes of the header have no
            // effect.
            const at = setting.random.whole(10, bytes.length - 5);
            bytes[at] = (bytes[at] as number) ^ (1 << setting.random.whole(0, 7));
            return bytes;
          })
        : {
            ...inBody(setting, atByte => ({ kind: 'flip', atByte })),
            // A gzip checksum comes only at the end of the data. The compliance stream has no end,
            // so the flipped bit first shows as a damaged record.
            mayFail: setting.row.name === 'compliance',
            mayChange: setting.row.name === 'compliance',
          },
  ),
  fault('stall', network('waits'), setting => ({
    ...inBody(setting, afterBytes => ({ kind: 'stall', afterBytes })),
    account: { timeouts: { silenceMs: SILENCE_MS } },
  })),
  {
    ...fault(
      'stall, consumer paused',
      row => (IN_THREADS.includes(row.name) ? NOT_SEEN : network('waits')(row)),
      setting => stallWhilePaused(setting, SILENCE_MS),
    ),
    // The consumer may have no item while the connection is stalled, and then the fault takes no
    // effect.
    draws: 5,
  },
  fault('429', network('waits'), setting => {
    const { row, world } = setting;
    // In a compliance trial, the trial itself advances the clock. In other trials, only waits
    // advance it.
    const waitedMs =
      row.name === 'compliance' ? waitAfter429(world) : () => world.service.clock.now() - NOW;
    return {
      ...fromRequest(setting, () => ({ kind: 'status', status: 429, retryAfter: 300 })),
      wait: { minMs: 300_000, waitedMs },
    };
  }),
  fault('503 five times', network('waits'), setting =>
    fromRequest(setting, endpoint => ({
      kind: 'status',
      status: 503,
      // A download abandons a file after five failures, so a file fails only four times.
      times: endpoint === 'job-files' ? 4 : 5,
    })),
  ),
  {
    ...fault('401 in the middle', network('error', { sinks: true }), refuseLater, row => ({
      ...(row.endpoints.includes('jobs') && EXPIRING),
    })),
    // A run may have requested all files before their addresses expire, and then the fault takes no
    // effect.
    draws: 5,
  },
  fault(
    'repeated records',
    ({ name }) => {
      if (name === 'counts') return 'error';
      if (name === 'jobs.download') return AS_MADE;
      if (name === 'applyCompliance' || name === 'stored files, deletions by threads')
        return { none: 'each line is judged by itself' };
      return SINKS.includes(name) ? AS_SEARCH : 'recovers';
    },
    async setting => {
      const { name } = setting.row;
      // The service already sends these pipelines each post twice, so nothing is planted.
      if (REPEATING.includes(name)) return { hits: () => setting.repeated ?? 0, lift: () => {} };
      const separator = name.startsWith('stored') ? '\n' : name === 'compliance' ? '\r\n' : ',';
      return spoilRecord(setting, record => record + separator + record, {
        isLasting: name === 'counts',
      });
    },
    ({ name }) => ({
      proxied: ['search', 'counts', 'compliance', 'engagement'].includes(name),
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
      spoilRecord(setting, (record, random) => {
        // Readers do not parse records. They deliver a cut line that starts with `{`, ends with `}`
        // and contains an id. Therefore, any `}` at the end is removed.
        const cut = record.slice(0, random.whole(1, record.length - 2)).replace(/[}\s]+$/, '');
        return random.chance(0.7) ? cut : '{"id_str":nil}';
      }),
    ({ endpoints }) => ({ proxied: endpoints.length > 0 }),
  ),
  fault(
    'oversized record',
    ({ name }) => {
      // Counts ignore unknown members, and a page of counts may be larger than the limit of a
      // record.
      if (name === 'counts') return 'recovers';
      if (name === 'jobs.download') return AS_MADE;
      return SINKS.includes(name) ? AS_SEARCH : 'error';
    },
    setting => spoilRecord(setting, record => record.replace('{', `{"padding":"${PADDING}",`)),
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
  {
    ...fault(
      'consumer 100 times slower',
      ({ name }) =>
        name === 'applyCompliance'
          ? { none: 'has no consumer' }
          : IN_THREADS.includes(name)
            ? NOT_SEEN
            : 'recovers',
      consumeSlowly,
      slowWorld,
    ),
    eventBytes: LARGE_EVENT_BYTES,
  },
  // The number of disk calls depends on which items arrive together, so the failing call may not be
  // reached.
  { ...fault('full disk', diskRows('error'), onDisk('ENOSPC')), draws: 5 },
  { ...fault('failing disk', diskRows('error'), onDisk('EIO')), draws: 5 },
  {
    ...fault(
      'thread ends',
      ({ name }) =>
        IN_THREADS.includes(name) ? 'error' : { none: 'uses no worker threads of its own' },
      ({ clean, random, out }) => endThread(out, random.whole(1, clean.threadMessages)),
    ),
    draws: 5,
  },
  fault(
    'sums that lie',
    ({ name, endpoints }) => {
      if (name === 'search' || name === 'counts') return 'error';
      if (endpoints.includes('job-files')) return 'error';
      if (name === 'replay' || name === 'compliance') return 'gap';
      if (name === 'merge') return { none: 'the rows of its sources have the cell' };
      if (name === 'engagement') return { none: 'its counts have no sum' };
      return SINKS.includes(name) ? AS_SEARCH : { none: 'the info line of a file is not checked' };
    },
    lieAboutSums,
    ({ name }) => ({ proxied: name === 'search' || name === 'counts' }),
  ),
  fault(
    'expired addresses',
    ({ endpoints }) =>
      endpoints.includes('job-files')
        ? 'recovers'
        : { none: 'only the files of jobs have addresses that expire' },
    expireAddresses,
    () => EXPIRING,
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
        // A part of the replayed time range is older than five days, or becomes older than that
        // before it is read.
        const { from, to } = WINDOWS.replay;
        clock.set(random.whole(from + 2 * 60_000, to) + 5 * DAY);
      } else if (row.name === 'compliance') clock.advance(random.whole(5, 9) * DAY);
      else clock.advance(16 * DAY);
      const isRefused = await isExpired(world.addresses, row.name, input);
      const from =
        row.name === 'replay' ? WINDOWS.replay.from : NOW - COMPLIANCE_SINCE_MS - LATE_MS;
      const minutes = () => ({ from, to: clock.now() - 5 * DAY });
      const gap = row.endpoints.includes('replay') ? { reason: 'expired', minutes } : undefined;
      return { hits: () => Number(isRefused), isFinal: true, gap, lift: () => {} };
    },
  ),
  // The OAuth signature of an `engagement` request contains the client's time, so a wrong clock
  // makes it fail.
  fault(
    'clock an hour off',
    row => (row.name === 'engagement' ? 'error' : network('recovers')(row)),
    ({ random }) => {
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
    },
  ),
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
      // The connection breaks in the middle of a body. The rest of the body has already arrived,
      // but the client cannot read it before the break.
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

const EXPIRING = { proxied: true, service: { fileUrlMs: 60_000 } };

function expireAddresses({ random, world: { proxy, service } }: FaultSetting): Planted {
  const at = random.whole(0, 2);
  let files = 0;
  let refused = 0;
  if (proxy !== undefined)
    proxy.onResponse = ({ path, status }) => {
      if (!path.includes(PATHS['job-files'] as string)) return;
      if (status === 403) refused++;
      else if (files++ % 3 === at) service.clock.advance(5 * 60_000);
    };
  return {
    hits: () => refused,
    lift: () => {
      if (proxy !== undefined) proxy.onResponse = () => {};
    },
  };
}

/**
 * Makes the service refuse the login from a random request on. By then, the run has received some
 * data.
 */
function refuseLater(setting: FaultSetting): Planted {
  const { row, world, random, clean } = setting;
  const refusal = { kind: 'status', status: 401, times: 'always' } as const;
  const { faults } = world.service;
  if (row.name === 'compliance' && random.chance(0.5)) {
    const afterMessages = random.whole(1, BURST_EVENTS - 1);
    faults.plant({ kind: 'content-cut', endpoint: 'compliance', afterMessages, end: 'close' });
    return plant(setting, { ...refusal, endpoint: 'compliance', skip: 1 });
  }
  if (row.name === 'compliance') return plant(setting, { ...refusal, endpoint: 'replay' });
  if (row.endpoints.includes('jobs') && random.chance(0.5)) {
    // The files are listed again once their addresses have expired, and the login for this request
    // is refused.
    const expiry = expireAddresses(setting);
    const skip = clean.sent.get('jobs')?.length ?? 0;
    const { hits, lift } = plant(setting, { ...refusal, endpoint: 'jobs', skip });
    return {
      hits,
      lift: () => {
        expiry.lift();
        lift();
      },
    };
  }
  return fromRequest(setting, () => refusal, { first: 1 });
}

function diskRows(expected: Expectation) {
  return ({ name }: Row): Expectation | { readonly none: string } => {
    if (name === 'compliance')
      return {
        none: 'LMDB does not write through Node: `disks` fails each call, `tombstones/ENOSPC` and `/EIO`',
      };
    return expected;
  };
}

/**
 * A string that is larger than the 16 MiB that a record may have. It is so varied that its gzip is
 * not refused as a bomb.
 */
const PADDING = Array.from({ length: 600_000 }, (_, index) =>
  index.toString(36).padStart(30, 'x'),
).join('');

function isStream(endpoint: Endpoint): boolean {
  return endpoint === 'replay' || endpoint === 'compliance';
}

const OTHERS_HAVE_IT = { none: 'its faults are those of other rows, but for kills' };

export const FAULTS: readonly Fault[] = TRIED.map(one => ({
  ...one,
  expects: row =>
    one.kill === undefined && row.name in ONLY_KILLED ? OTHERS_HAVE_IT : one.expects(row),
}));
