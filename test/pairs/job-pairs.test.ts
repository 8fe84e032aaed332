import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobs } from '../../src/index.js';
import { conflictOf, type Row } from './covering-rows.js';
import { FIXED_OF_JOBS, JOB_DOMAIN, JOB_RULES, JOB_VALUES } from './job-values.js';
import { listedOptions, optionNames } from './option-names.js';
import { tryJobRow } from './run-job-row.js';
import { acme, startService, stopService } from './service-input.js';
import { smallestFailure } from './smallest-failure.js';
import { suiteRows } from './suite-rows.js';

beforeAll(startService);
afterAll(stopService);

const CALLS: Readonly<Record<string, (options: never) => unknown>> = {
  run: o => jobs.run(acme(), o),
  download: o => jobs.download(acme(), 'uuid', o),
};

describe('the tests of option combinations for jobs', () => {
  it.each(Object.keys(CALLS))('list a value for every option of jobs.%s', async call => {
    const options = await optionNames(CALLS[call]!);
    expect(options).not.toEqual([]);
    expect(listedOptions(call, JOB_VALUES, FIXED_OF_JOBS)).toEqual(options);
  });
});

const { pairs, missing, tried } = suiteRows(JOB_DOMAIN, JOB_RULES);

describe('the tested combinations of options for jobs', () => {
  it('contain every pair of options, except pairs that conflict', () => {
    expect(pairs).toBeGreaterThan(500);
    const unexplained = missing.filter(
      pair => conflictOf(pair, JOB_DOMAIN, JOB_RULES) === undefined,
    );
    expect(unexplained).toEqual([]);
  });

  it.each(tried)(
    'create only one job and store each of its files (%s)',
    async (_, { row, number }) => {
      const errorOf = (one: Row) =>
        tryJobRow(one, number).then(
          () => undefined,
          (error: unknown) => error ?? new Error('undefined'),
        );
      if ((await errorOf(row)) !== undefined)
        throw await smallestFailure(row, JOB_DOMAIN, JOB_RULES, errorOf);
    },
  );
});
