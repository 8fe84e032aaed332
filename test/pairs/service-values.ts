import { formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import { type Conflict, type Domain, hasValues, type Row, type Rules } from './covering-rows.js';
import {
  calls,
  domainOf,
  flags,
  is,
  numbers,
  unset,
  type Values,
  type ValuesOfStages,
} from './values.js';

/** The window of all rows is the six hours after midnight. */
export const START = Date.UTC(2026, 10, 20);
export const END = START + 6 * HOUR;
/** The service's time during the first runs. `LATER` is its time during the last one. */
export const NOW = END + 40 * MINUTE;
export const LATER = NOW + 5 * HOUR;

const date = (time: number): Values => ({
  timestamp: is(formatTimestamp(time)),
  'a Date': is(new Date(time)),
});
const shard: Values = { ...unset, '1/2': is({ index: 1, of: 2 }), '2/2': is({ index: 2, of: 2 }) };

/** The options that all query sources have. */
const query = (source: string): ValuesOfStages[string] => ({
  product: { '30day': is('30day'), fullarchive: is('fullarchive') },
  fromDate: { ...date(START), ...unset },
  toDate: { ...date(END), ...unset },
  label: { ...unset, given: is('dev') },
  incremental: flags,
  onGap: calls(`${source}.onGap`),
  method: { ...unset, POST: is('POST'), GET: is('GET') },
});

const pages = (source: string): ValuesOfStages[string] => ({
  maxResults: numbers(10, 25),
  budget: { ...unset, 'enough posts': is({ posts: 5000 }), 'a request': is({ requests: 1 }) },
  slices: numbers(1, 3),
  shard,
  onDamaged: calls(`${source}.onDamaged`),
});

/**
 * The values to try for the options of sources that use a service, and of some sinks. A test fails
 * if an option of these sources is missing here. Names in parentheses are not options.
 */
export const SERVICE_VALUES: ValuesOfStages = {
  flow: { '(stop)': { none: is(0), abort: is(0), 'the service fails': is(0) } },
  search: {
    ...query('search'),
    ...pages('search'),
    tag: { ...unset, given: is('a tag') },
    limit: numbers(5, 23),
    pages: numbers(2),
  },
  searchRules: {
    ...query('searchRules'),
    ...pages('searchRules'),
    queryLimits: { ...unset, 'a rule each': is({ clauses: 1 }) },
    onQueries: calls('onQueries'),
  },
  counts: {
    ...query('counts'),
    // This is set in all rows, because the default of 30 days has 43,200 minutes.
    fromDate: date(START),
    bucket: { ...unset, day: is('day'), hour: is('hour'), minute: is('minute') },
  },
  replay: {
    streamType: { firehose: is('firehose'), rulestream: is('rulestream') },
    toDate: { ...date(END), ...unset },
    fromDate: date(START),
    incremental: flags,
    streamLabel: { ...unset, given: is('replay') },
    folder: { ...unset, given: ({ out }) => `${out}/replay` },
    maxMemory: numbers(0, 500),
    maxDisk: numbers(4000),
    onGap: calls('replay.onGap'),
    onDamaged: calls('replay.onDamaged'),
    onWait: calls('onWait'),
    timings: { ...unset, 'short chunks': is({ firstChunkMs: 4 * MINUTE }) },
    shard,
  },
  dedupe: { window: numbers(100) },
  take: { '(count)': { 1000: is(1000), 5: is(5) } },
  files: {
    checkpoint: { ...unset, given: ({ out }) => `${out}/checkpoint.json` },
    commitIntervalMs: numbers(0),
    maxBytes: numbers(1, 2000),
    gzip: flags,
  },
  committed: {
    // Whether the target has this function. See run-service-row.ts for the functions.
    transaction: { given: is(0), 'not given': is(0) },
    rows: numbers(1, 3),
  },
  tee: { checkpoint: { ...unset, given: ({ out }) => `${out}/checkpoint.json` } },
};

/**
 * Options that are the same in every row. For example, `next` only reads one page, and `resume`
 * comes from the checkpoint.
 */
export const FIXED_OF_SERVICE: readonly string[] = [
  ...['search.query', 'search.next', 'search.resume', 'searchRules.rules', 'searchRules.resume'],
  ...['counts.query', 'counts.next', 'counts.resume', 'replay.resume'],
];

export const SOURCES = ['search', 'searchRules', 'counts', 'replay'] as const;

export const sourceOf = (row: Row): (typeof SOURCES)[number] =>
  SOURCES.find(source => row[source] === 'yes')!;

/** Returns the value of an option of the row's source. */
export const optionOf = (row: Row, option: string): string | undefined =>
  row[`${sourceOf(row)}.${option}`];

export const isIncremental = (row: Row): boolean => optionOf(row, 'incremental') === 'true';

export const SERVICE_DOMAIN: Domain = domainOf(SERVICE_VALUES);

/**
 * Declares that a source refuses these values together, with an error about this option.
 *
 * @param others Further values that the example needs so that the library refuses nothing else.
 */
function refuses(
  source: string,
  option: string,
  values: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>> = {},
): Conflict {
  const named = (given: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [`${source}.${name}`, value]));
  const list = Object.entries(named(values)).map(([key, value]) => `${key}=${value}`);
  return {
    reason: list.join(' with '),
    holds: row => hasValues(row, list),
    refused: {
      row: { ...named({ ...others, ...values }), files: 'yes', 'files.checkpoint': 'given' },
      option,
    },
  };
}

/** Declares that a source refuses one value together with each of these values of other options. */
const refusesBeside = (
  source: string,
  option: string | undefined,
  values: Readonly<Record<string, string>>,
  refused: Readonly<Record<string, readonly string[]>>,
  others: Readonly<Record<string, string>> = {},
) =>
  Object.entries(refused).flatMap(([name, list]) =>
    list.map(value => refuses(source, option ?? name, { ...values, [name]: value }, others)),
  );

const DATES = ['timestamp', 'a Date'];
const SHARDS = ['1/2', '2/2'];
const LIMITS = { limit: ['5', '23'], pages: ['2'] };
const INCREMENTAL = { incremental: 'true' };
const ENDLESS = { toDate: 'not given', onGap: 'given' };

const CONFLICTS: readonly Conflict[] = [
  {
    reason: 'a row has one source',
    holds: row =>
      SOURCES.filter(source => row[source] === 'yes').length > 1 ||
      SOURCES.every(source => row[source] === 'no'),
  },
  {
    reason: 'a pipeline has a sink',
    holds: row => row.files === 'no' && row.committed === 'no',
  },
  {
    reason: 'dedupe compares posts, and buckets of counts have no ids',
    holds: row => row.dedupe === 'yes' && row.counts === 'yes',
  },
  {
    reason: 'two sinks need tee',
    holds: row => row.tee === 'no' && row.files === 'yes' && row.committed === 'yes',
  },
  {
    reason: 'tee has the checkpoint of its sinks',
    holds: row => row.tee === 'yes' && row['files.checkpoint'] === 'given',
  },
  {
    reason: 'committed has the checkpoint of tee',
    holds: row => row['tee.checkpoint'] === 'given' && row.committed === 'yes',
  },
  {
    reason: 'committed in tee needs a transaction',
    holds: row => row.tee === 'yes' && row['committed.transaction'] === 'not given',
  },
  {
    reason: 'without a checkpoint, each run asks for the same page again',
    holds: row =>
      SOURCES.some(source => row[`${source}.budget`] === 'a request') && !mayHaveCheckpoint(row),
  },
  ...SOURCES.flatMap((source): Conflict[] => [
    ...refusesBeside(source, undefined, INCREMENTAL, { toDate: DATES }, { onGap: 'given' }),
    {
      reason: `${source} that is incremental needs a checkpoint`,
      holds: row => row[`${source}.incremental`] === 'true' && !mayHaveCheckpoint(row),
      refused: {
        row: {
          ...{ [`${source}.incremental`]: 'true', [`${source}.toDate`]: 'not given' },
          ...{ [`${source}.onGap`]: 'given', files: 'yes' },
        },
        option: 'checkpoint',
      },
    },
  ]),
  ...['search', 'searchRules', 'replay'].flatMap(source =>
    refusesBeside(source, undefined, INCREMENTAL, { shard: SHARDS }, ENDLESS),
  ),
  ...['search', 'searchRules'].flatMap(source => [
    ...refusesBeside(source, 'shard', { fromDate: 'not given' }, { shard: SHARDS }),
    ...refusesBeside(source, 'shard', { toDate: 'not given' }, { shard: SHARDS }),
    ...refusesBeside(source, undefined, { slices: '3' }, { budget: ['enough posts', 'a request'] }),
  ]),
  ...refusesBeside('search', undefined, INCREMENTAL, LIMITS, ENDLESS),
  ...refusesBeside('search', 'slices', { slices: '3' }, LIMITS),
  ...SHARDS.flatMap(shard => refusesBeside('search', 'shard', { shard }, LIMITS)),
  refuses('replay', 'onGap', { ...INCREMENTAL, onGap: 'not given' }, { toDate: 'not given' }),
  refuses('replay', 'onGap', { toDate: 'not given', onGap: 'not given' }, INCREMENTAL),
  ...refusesBeside(
    'replay',
    undefined,
    { toDate: 'not given' },
    { shard: SHARDS },
    {
      ...INCREMENTAL,
      onGap: 'given',
    },
  ),
  ...['not given', 'false'].map(incremental =>
    refuses('replay', 'toDate', { toDate: 'not given', incremental }),
  ),
  {
    reason:
      'take ends between two cursors of an incremental replay: a StorageError, since the next run could not continue there',
    holds: row =>
      row['take.(count)'] === '5' &&
      (row['replay.incremental'] === 'true' || row['replay.toDate'] === 'not given'),
  },
  {
    reason:
      'minutes that a replay requests again come later, so which posts are first is not known',
    holds: row =>
      row['take.(count)'] === '5' &&
      row.replay === 'yes' &&
      row['flow.(stop)'] === 'the service fails',
  },
];

/** Returns whether a row has a checkpoint, or can still get one if it is incomplete. */
function mayHaveCheckpoint(row: Row): boolean {
  if (row.committed !== 'no') return true;
  return row.tee === 'yes'
    ? row['tee.checkpoint'] !== 'not given'
    : row['files.checkpoint'] !== 'not given' || row.tee === undefined;
}

export const SERVICE_RULES: Rules = {
  always: ['flow'],
  conflicts: CONFLICTS,
  alone: { values: [], others: [] },
};
