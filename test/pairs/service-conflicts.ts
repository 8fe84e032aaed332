import { type Conflict, hasValues, type Row, type Rules } from './covering-rows.js';
import { DECODING, SOURCES } from './service-values.js';

/**
 * Declares that a source refuses these values together, with an error about `option`.
 *
 * @param others Further values that the example row needs. Without them, the library would refuse
 * the row for another reason.
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
    reason: 'dedupe compares posts: buckets of counts and events have no ids',
    holds: row => row.dedupe === 'yes' && (row.counts === 'yes' || row.compliance === 'yes'),
  },
  {
    reason: 'only posts have totals',
    holds: row => row.engagement === 'yes' && (row.counts === 'yes' || row.compliance === 'yes'),
  },
  {
    reason: 'JSON has no bigints: a DataError at the first post',
    holds: row => row['engagement.counts'] === 'bigint' && row.files === 'yes',
  },
  ...DECODING.map(
    (stage): Conflict => ({
      reason: `only files of jobs need ${stage}`,
      holds: row =>
        (row[stage] === 'yes' && row.jobFiles === 'no') ||
        (row[stage] === 'no' && row.jobFiles === 'yes'),
    }),
  ),
  {
    reason: 'files with other totals than the service states end a run that requires them',
    holds: row =>
      row['jobFiles.(totals)'] === 'wrong' &&
      row['jobFiles.totals'] !== undefined &&
      row['jobFiles.totals'] !== 'report',
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
  ...['search', 'searchRules', 'counts', 'replay'].flatMap((source): Conflict[] => [
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
      'minutes and files that are requested again come later, so which items are first is not known',
    holds: row =>
      row['take.(count)'] === '5' &&
      ['replay', 'jobFiles', 'compliance'].some(source => row[source] === 'yes') &&
      row['flow.(stop)'] === 'the service fails',
  },
  {
    reason: 'compliance that has caught up needs a checkpoint',
    holds: row => row['compliance.until'] === 'caught up' && !mayHaveCheckpoint(row),
    refused: {
      row: { 'compliance.until': 'caught up', files: 'yes' },
      option: 'checkpoint',
    },
  },
  {
    reason: 'only take ends compliance without `until`, and only a replay has enough events',
    holds: row =>
      isEndless(row) &&
      (row.take === 'no' ||
        row['take.(count)'] === '1000' ||
        row['flow.(stop)'] === 'the service fails' ||
        row['compliance.fromDate'] === 'not given' ||
        row['compliance.backfill'] === 'false'),
  },
  {
    reason:
      'without transactions, a source must deliver the same rows again, and events may not be',
    holds: row =>
      row.compliance === 'yes' &&
      row['committed.transaction'] === 'not given' &&
      row['flow.(stop)'] !== undefined &&
      row['flow.(stop)'] !== 'none',
  },
  {
    reason: 'take ends between two cursors of a run that catches up: a StorageError',
    holds: row => row['compliance.until'] === 'caught up' && row['take.(count)'] === '5',
  },
  {
    reason: 'each gap that is not filled is a warning of the process',
    holds: row => row['compliance.backfill'] === 'false' && row['compliance.onGap'] === 'not given',
  },
];

const isEndless = (row: Row): boolean =>
  row['compliance.until'] === 'not given' ||
  (row.compliance === 'yes' && row['take.(count)'] === '5');

/**
 * Returns whether these options include a checkpoint. If the row is incomplete, returns whether a
 * checkpoint can still be added.
 */
function mayHaveCheckpoint(row: Row): boolean {
  if (row.committed !== 'no') return true;
  return row.tee === 'yes'
    ? row['tee.checkpoint'] !== 'not given'
    : row['files.checkpoint'] !== 'not given' || row.tee === undefined;
}

const ON_MAIN_THREAD = [
  'flow.(stop)=abort',
  'activities.onMessage=given',
  'activities.onDamaged=given',
  'jsonLines.onDamaged=given',
  'engagement=yes',
  'committed=yes',
].map(value => [value]);

export const SERVICE_RULES: Rules = {
  always: ['flow'],
  conflicts: CONFLICTS,
  alone: { values: ['files.workers=2'], others: ON_MAIN_THREAD },
};
