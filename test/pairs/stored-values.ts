import type { Activity, Routed } from '../../src/post/activity.js';
import { toCsv } from '../../src/tables/csv/to-csv.js';
import { unchecked } from '../unchecked.js';
import type { Conflict, Domain, Rules } from './covering-rows.js';
import {
  calls,
  domainOf,
  flags,
  is,
  names,
  numbers,
  unset,
  type Values,
  type ValuesOfStages,
} from './values.js';

export const postOf = (item: Activity | Routed): Activity =>
  'activity' in item ? item.activity : item;

const written = (sink: string, extension: string): ValuesOfStages[string] => ({
  path: {
    'one file': ({ out }) => `${out}/${sink}/all.${extension}`,
    '{day}': ({ out }) => `${out}/${sink}/{day}.${extension}`,
    '{author}': ({ out }) => `${out}/${sink}/{author}.${extension}`,
    '{tag}': ({ out }) => `${out}/${sink}/{tag}.${extension}`,
    'a function':
      ({ out }) =>
      (item: Activity | Routed) =>
        `${out}/${sink}/${postOf(item).id.slice(-1)}.${extension}`,
  },
  checkpoint: { ...unset, given: ({ out }) => `${out}/state/${sink}.json` },
  damaged: { ...unset, given: ({ out }) => `${out}/damaged/records.jsonl` },
  maxOpen: numbers(1),
  maxOutputs: numbers(1000),
  workers: numbers(0, 2),
  onFile: {
    ...unset,
    answers:
      ({ saw }) =>
      (file: unknown) => {
        saw('onFile', file);
        return 'sent';
      },
    'fails in the first run':
      ({ saw, run }) =>
      (file: unknown) => {
        if (run === 1) throw new Error('not sent');
        saw('onFile', file);
      },
  },
  onFileConcurrency: numbers(1),
  onFileError: { ...unset, end: is('end'), keep: is('keep') },
});

const gzip: Values = { ...flags, 'a level': is({ level: 1 }) };
const columns: Values = {
  ...unset,
  names: is(['id', 'text', 'rule_tags']),
  'one of the caller': is([
    'id',
    'text',
    { name: 'digits', type: 'int32', value: (item: Activity | Routed) => postOf(item).id.length },
  ]),
};
const invalidValues: Values = { ...unset, error: is('error'), null: is('null') };

/**
 * The values to try for each option. A test fails if an option of the library is missing here. A
 * name in parentheses is not an option, but another condition that the runs vary.
 */
export const VALUES: ValuesOfStages = {
  flow: {
    '(source)': { folder: is(0), list: is(0), 'two folders': is(0), concat: is(0), merge: is(0) },
    '(stop)': { none: is(0), 'a file is cut short': is(0), abort: is(0), 'power cut': is(0) },
    '(order)': { usual: is(0), reversed: is(0) },
    '(operators)': { 'before the sink': is(0), 'in branches': is(0) },
  },
  pipeline: {
    signal: { ...unset, given: is(0) },
    progress: { ...unset, off: is('off'), 'a function': () => () => {} },
    onSummary: calls('onSummary'),
  },
  localFiles: {
    match: {
      ...unset,
      'an expression': is(/\.gz$/),
      'a function': is((path: string) => path.endsWith('.gz')),
    },
    shard: { ...unset, '1/2': is({ index: 1, of: 2 }) },
    incremental: flags,
  },
  gunzip: { plain: { ...unset, refuse: is('refuse'), pass: is('pass') }, maxBytes: numbers(1e6) },
  jsonLines: {
    separator: { ...unset, LF: is('\n'), CRLF: is('\r\n') },
    maxBytes: numbers(1500),
    maxDepth: numbers(8),
    onDamaged: calls('jsonLines.onDamaged'),
  },
  activities: { onMessage: calls('onMessage'), onDamaged: calls('activities.onDamaged') },
  matchRules: {
    '(rules)': { list: is(0), matcher: is(0) },
    product: { ...unset, search: is('search') },
    frequency: { ...unset, 'a function': () => () => 0.1 },
    dropUnmatched: flags,
  },
  withoutDeleted: {
    country: { ...unset, DE: is('DE') },
    earlierVersions: { ...unset, hide: is('hide'), keep: is('keep') },
    mask: flags,
  },
  dedupe: {
    window: { ...unset, 2: is(2), Infinity: is(Number.POSITIVE_INFINITY) },
    name: names,
    key: {
      ...unset,
      id: is((post: Activity) => post.id),
      author: is((post: Activity) => post.author.id),
    },
  },
  sample: {
    ratio: { 1: is(1), '0.5': is(0.5) },
    seed: numbers(7),
  },
  filter: { name: names },
  mapAsync: { concurrency: numbers(1, 3) },
  take: { '(count)': { 1000: is(1000), 5: is(5) } },
  routeByTag: { untagged: { ...unset, given: is('none') } },
  tee: {
    checkpoint: { ...unset, given: ({ out }) => `${out}/state/tee.json` },
    damaged: { ...unset, given: ({ out }) => `${out}/damaged/records.jsonl` },
  },
  files: {
    ...written('files', 'jsonl'),
    gzip,
    maxBytes: numbers(1, 900),
    commitIntervalMs: numbers(0),
    line: {
      ...unset,
      'a function': is(
        (item: Activity | Routed) => `${postOf(item).id} ${JSON.stringify(postOf(item).text)}`,
      ),
    },
  },
  csv: {
    ...written('csv', 'csv'),
    gzip,
    maxBytes: numbers(1, 900),
    commitIntervalMs: numbers(0),
    columns,
    invalidValues,
    formulas: { ...unset, keep: is('keep'), escape: is('escape') },
    bom: flags,
  },
  parquet: {
    ...written('parquet', 'parquet'),
    maxBytes: numbers(1, 900),
    commitIntervalMs: numbers(0),
    columns,
    invalidValues,
    compression: { ...unset, gzip: is('gzip'), none: is('none') },
    rowGroup: numbers(1, 3),
    maxHeldBytes: numbers(1),
  },
  committed: {
    // Whether the target has a `transaction` function. See run-stored-row.ts for the functions.
    transaction: {
      given: is(0),
      'given, calls again': is(0),
      'given, loses answers': is(0),
      'not given': is(0),
      'not given, fails after': is(0),
    },
    encode: {
      ...unset,
      toCsv: () => toCsv<Activity | Routed>(unchecked(['id', 'text', 'rule_tags'])),
      'a function': is(
        (item: Activity | Routed) => `${postOf(item).id},${JSON.stringify(postOf(item).text)}\n`,
      ),
    },
    workers: numbers(0, 2),
    damaged: { ...unset, given: ({ out }) => `${out}/damaged/records.jsonl` },
    name: names,
    rows: numbers(1, 3),
    waitMs: numbers(0),
    retries: numbers(0),
    retryWaitMs: { 0: is(0), 1: is(1) },
    isRetryable: { ...unset, never: () => () => false },
  },
};

/** Options that have the same value in every test, because nothing works without them. */
export const FIXED: readonly string[] = ['committed.load', 'committed.write', 'committed.save'];

export const SINKS = ['files', 'csv', 'parquet', 'committed'] as const;
const FILE_SINKS = ['files', 'csv', 'parquet'] as const;

export const DOMAIN: Domain = domainOf(VALUES);

const CONFLICTS: readonly Conflict[] = [
  {
    reason: 'a pipeline has a sink',
    holds: row => SINKS.every(sink => row[sink] === 'no'),
  },
  {
    reason: 'several sinks need tee',
    holds: row => row.tee === 'no' && SINKS.filter(sink => row[sink] === 'yes').length > 1,
  },
  ...FILE_SINKS.map(
    (sink): Conflict => ({
      reason: `tee has the checkpoint of ${sink}`,
      holds: row => row.tee === 'yes' && row[`${sink}.checkpoint`] === 'given',
      refused: {
        row: { tee: 'yes', [sink]: 'yes', [`${sink}.checkpoint`]: 'given' },
        option: 'checkpoint',
      },
    }),
  ),
  ...SINKS.map(
    (sink): Conflict => ({
      reason: `tee has the file of damaged records of ${sink}`,
      holds: row => row.tee === 'yes' && row[`${sink}.damaged`] === 'given',
      refused: {
        row: { tee: 'yes', [sink]: 'yes', [`${sink}.damaged`]: 'given' },
        option: 'damaged',
      },
    }),
  ),
  {
    reason: 'committed has the checkpoint of tee',
    holds: row => row['tee.checkpoint'] === 'given' && row.committed === 'yes',
    refused: {
      row: { 'tee.checkpoint': 'given', committed: 'yes', files: 'yes' },
      option: 'checkpoint',
    },
  },
  {
    reason: 'the threads of committed only encode',
    holds: row =>
      row['committed.encode'] === 'not given' &&
      row['committed.workers'] !== undefined &&
      row['committed.workers'] !== 'not given',
    refused: {
      row: { committed: 'yes', 'committed.encode': 'not given', 'committed.workers': '2' },
      option: 'workers',
    },
  },
  {
    reason: 'committed in tee needs a transaction',
    holds: row => row.tee === 'yes' && row['committed.transaction']?.startsWith('not') === true,
    refused: {
      row: { tee: 'yes', files: 'yes', committed: 'yes', 'committed.transaction': 'not given' },
      option: 'transaction',
    },
  },
  {
    reason: 'concat does not go back to a source that has ended',
    holds: row => row['localFiles.incremental'] === 'true' && row['flow.(source)'] === 'concat',
    refused: {
      row: {
        'localFiles.incremental': 'true',
        'flow.(source)': 'concat',
        files: 'yes',
        'files.checkpoint': 'given',
      },
      option: 'source',
    },
  },
  ...FILE_SINKS.map(
    (sink): Conflict => ({
      reason: 'a source that is incremental needs a checkpoint',
      holds: row =>
        row['localFiles.incremental'] === 'true' &&
        row.tee === 'no' &&
        row[`${sink}.checkpoint`] === 'not given',
      refused: { row: { 'localFiles.incremental': 'true', [sink]: 'yes' }, option: 'checkpoint' },
    }),
  ),
  {
    reason: 'a tee of an incremental source needs a checkpoint',
    holds: row =>
      row['localFiles.incremental'] === 'true' &&
      row['tee.checkpoint'] === 'not given' &&
      row.committed === 'no',
    refused: {
      row: { 'localFiles.incremental': 'true', tee: 'yes', files: 'yes' },
      option: 'checkpoint',
    },
  },
  ...FILE_SINKS.map(
    (sink): Conflict => ({
      reason: '{tag} needs routeByTag: a DataError at the first post',
      holds: row => row[`${sink}.path`] === '{tag}' && row.routeByTag === 'no',
    }),
  ),
  {
    reason: 'posts that are merged have no fixed order, so which ones are first is not known',
    holds: row =>
      row['flow.(source)'] === 'merge' &&
      (row['take.(count)'] === '5' ||
        row['dedupe.window'] === '2' ||
        row['dedupe.key'] === 'author'),
  },
  {
    reason: 'without transactions, a source must deliver the same rows again, and a merge may not',
    holds: row =>
      row['flow.(source)'] === 'merge' && row['committed.transaction']?.startsWith('not') === true,
  },
  {
    reason: 'only tee has branches',
    holds: row => row['flow.(operators)'] === 'in branches' && row.tee === 'no',
  },
  {
    reason: 'an abort needs a signal',
    holds: row => row['flow.(stop)'] === 'abort' && row['pipeline.signal'] === 'not given',
  },
];

const ON_MAIN_THREAD: readonly (readonly string[])[] = [
  ...[
    'flow.(stop)=abort',
    'flow.(stop)=power cut',
    'flow.(order)=reversed',
    'jsonLines.separator=CRLF',
    'jsonLines.onDamaged=given',
    'activities.onMessage=given',
    'activities.onDamaged=given',
    'matchRules.(rules)=matcher',
    'matchRules.frequency=a function',
    'dedupe.key=id',
    'dedupe.key=author',
    'filter=yes',
    'mapAsync=yes',
    'committed.encode=not given',
    'committed.encode=a function',
    'tee.damaged=given',
    'files.line=a function',
    'csv.columns=one of the caller',
    'parquet.columns=one of the caller',
    'parquet.maxBytes=1',
    'parquet.maxBytes=900',
    ...FILE_SINKS.flatMap(sink => [`${sink}.path=a function`, `${sink}.path={author}`]),
    ...SINKS.flatMap(sink => [`${sink}.damaged=given`, `${sink}.workers=0`]),
  ].map(value => [value]),
  // A branch of `tee` must not replace posts, because other branches read the same posts.
  ['flow.(operators)=in branches', 'matchRules=yes'],
  ['flow.(operators)=in branches', 'withoutDeleted=yes'],
];

export const RULES: Rules = {
  always: ['flow', 'pipeline', 'localFiles', 'gunzip', 'jsonLines', 'activities'],
  conflicts: CONFLICTS,
  alone: { values: SINKS.map(sink => `${sink}.workers=2`), others: ON_MAIN_THREAD },
};
