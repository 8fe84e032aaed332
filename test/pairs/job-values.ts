import { MINUTE } from '../../src/base/time.js';
import { type Conflict, type Domain, hasValues, type Rules } from './covering-rows.js';
import { RULES, START } from './service-input.js';
import { calls, date, domainOf, is, numbers, unset, type ValuesOfStages } from './values.js';

export const JOB_START = START;
export const JOB_END = START + 40 * MINUTE;
export const JOB_FILES = 4;

const signal = { ...unset, given: is(0) };

/**
 * The values to try for the options of `jobs.run` and `jobs.download`. A test fails if an option is
 * missing here.
 */
export const JOB_VALUES: ValuesOfStages = {
  flow: {
    // What happens to the folder after a download is stopped and before the next one starts.
    '(folder)': { 'left alone': is(0), 'a file is cut': is(0), 'a file is gone': is(0) },
  },
  run: {
    '(stop)': {
      ...{ none: is(0), abort: is(0), 'decide fails': is(0), 'onStatus fails': is(0) },
      ...{ 'not created': is(0), 'not accepted': is(0), 'status unknown': is(0) },
    },
    fromDate: date(JOB_START),
    toDate: date(JOB_END),
    dataFormat: { original: is('original'), activity_streams: is('activity_streams') },
    rules: { 'with tags': is(RULES), 'without tags': is(RULES.map(({ value }) => ({ value }))) },
    decide: { 'at once': is(0), later: is(0) },
    pollIntervalMs: numbers(5),
    onStatus: calls('onStatus'),
    signal,
  },
  download: {
    '(stop)': { none: is(0), abort: is(0), 'onFile fails': is(0), 'the service fails': is(0) },
    concurrency: numbers(1, 3),
    totals: { ...unset, require: is('require'), report: is('report') },
    '(totals)': { right: is(0), wrong: is(0) },
    shard: { ...unset, '1/2': is({ index: 1, of: 2 }), '2/2': is({ index: 2, of: 2 }) },
    onFile: calls('onFile'),
    signal,
  },
};

export const FIXED_OF_JOBS: readonly string[] = ['run.title', 'download.folder'];

export const JOB_DOMAIN: Domain = domainOf(JOB_VALUES);

const needs = (stage: string, stop: string, option: string): Conflict => ({
  reason: `${stage}: ${stop} needs ${option}`,
  holds: row => hasValues(row, [`${stage}.(stop)=${stop}`, `${stage}.${option}=not given`]),
});

const CONFLICTS: readonly Conflict[] = [
  needs('run', 'abort', 'signal'),
  needs('run', 'abort', 'onStatus'),
  needs('run', 'onStatus fails', 'onStatus'),
  needs('download', 'abort', 'signal'),
  needs('download', 'abort', 'onFile'),
  needs('download', 'onFile fails', 'onFile'),
  {
    reason: 'files with other totals than the service states end a download that requires them',
    holds: row =>
      row['download.(totals)'] === 'wrong' &&
      row['download.totals'] !== undefined &&
      row['download.totals'] !== 'report',
  },
];

export const JOB_RULES: Rules = {
  always: ['flow', 'run', 'download'],
  conflicts: CONFLICTS,
  alone: { values: [], others: [] },
};
