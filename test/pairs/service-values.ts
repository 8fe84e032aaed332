import { MINUTE } from '../../src/base/time.js';
import type { Domain, Row } from './covering-rows.js';
import { END, EVENTS_START, START, token } from './service-input.js';
import {
  calls,
  date,
  domainOf,
  flags,
  is,
  numbers,
  unset,
  type Values,
  type ValuesOfStages,
} from './values.js';

const shard: Values = { ...unset, '1/2': is({ index: 1, of: 2 }), '2/2': is({ index: 2, of: 2 }) };

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
 * The values to try for each option of the sources that use a service, and for some sinks. A test
 * fails if an option of these sources is missing here. A name in parentheses is not an option, but
 * another condition that the runs vary.
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
    // `fromDate` is always given. The default range of 30 days would have 43,200 buckets of a
    // minute.
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
  jobFiles: {
    concurrency: numbers(1, 3),
    totals: { ...unset, require: is('require'), report: is('report') },
    onVerdict: calls('onVerdict'),
    shard,
    '(totals)': { right: is(0), wrong: is(0) },
  },
  gunzip: { plain: { ...unset, refuse: is('refuse') }, maxBytes: numbers(1e6) },
  jsonLines: { maxBytes: numbers(1e6), onDamaged: calls('jsonLines.onDamaged') },
  activities: { onMessage: calls('onMessage'), onDamaged: calls('activities.onDamaged') },
  compliance: {
    until: { 'caught up': is('caught up'), ...unset },
    fromDate: { ...date(EVENTS_START), ...unset },
    backfill: flags,
    partitions: { ...unset, one: is([1]), all: is([1, 2, 3, 4, 5, 6, 7, 8]) },
    complianceLabel: { ...unset, given: is('compliance') },
    streamLabel: { ...unset, given: is('replay') },
    folder: { ...unset, given: ({ out }) => `${out}/replay` },
    timings: { ...unset, 'short chunks': is({ firstChunkMs: 4 * MINUTE }) },
    onGap: calls('compliance.onGap'),
    onDamaged: calls('compliance.onDamaged'),
  },
  dedupe: { window: numbers(100) },
  take: { '(count)': { 1000: is(1000), 5: is(5) } },
  engagement: {
    types: { ...unset, one: is(['favorites']), all: is(['replies', 'retweets', 'favorites']) },
    counts: { ...unset, string: is('string'), number: is('number'), bigint: is('bigint') },
    token: { ...unset, given: () => token },
    concurrency: numbers(1),
    waitMs: numbers(0, 1000),
    // Whether the service refuses the first request for totals.
    '(failure)': { none: is(0), once: is(0) },
  },
  files: {
    checkpoint: { ...unset, given: ({ out }) => `${out}/checkpoint.json` },
    commitIntervalMs: numbers(0),
    maxBytes: numbers(1, 2000),
    gzip: flags,
    workers: numbers(0, 2),
  },
  committed: {
    // Whether the target has a `transaction` function. See run-service-row.ts for the functions.
    transaction: { given: is(0), 'not given': is(0) },
    rows: numbers(1, 3),
  },
  tee: { checkpoint: { ...unset, given: ({ out }) => `${out}/checkpoint.json` } },
};

/**
 * Options that the tests do not vary. For example, `resume` always comes from the checkpoint, and
 * with `next`, only one page would be read.
 */
export const FIXED_OF_SERVICE: readonly string[] = [
  ...['search.query', 'search.next', 'search.resume', 'searchRules.rules', 'searchRules.resume'],
  ...['counts.query', 'counts.next', 'counts.resume', 'replay.resume'],
  ...['jobFiles.resume', 'compliance.resume'],
];

export const SOURCES = [
  'search',
  'searchRules',
  'counts',
  'replay',
  'jobFiles',
  'compliance',
] as const;
export const DECODING = ['gunzip', 'jsonLines', 'activities'] as const;

export const sourceOf = (row: Row): (typeof SOURCES)[number] =>
  SOURCES.find(source => row[source] === 'yes')!;

export const optionOf = (row: Row, option: string): string | undefined =>
  row[`${sourceOf(row)}.${option}`];

export const isIncremental = (row: Row): boolean =>
  optionOf(row, 'incremental') === 'true' || optionOf(row, 'until') === 'caught up';

export const SERVICE_DOMAIN: Domain = domainOf(SERVICE_VALUES);
