import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import * as millrace from '../../src/index.js';
import { askedOfThreads } from '../files/asked-of-threads.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { conflictOf, hasValues, type Row } from './covering-rows.js';
import { listedOptions, optionNames } from './option-names.js';
import { ServiceRow, tryServiceRow } from './run-service-row.js';
import { SERVICE_RULES } from './service-conflicts.js';
import { startService, stopService } from './service-input.js';
import { FIXED_OF_SERVICE, SERVICE_DOMAIN, SERVICE_VALUES, SOURCES } from './service-values.js';
import { completed, smallestFailure } from './smallest-failure.js';
import { suiteRows } from './suite-rows.js';

beforeAll(startService);
afterAll(stopService);

const acme = millrace.account(
  {
    ...{ url: 'http://127.0.0.1:1', account: 'acme', email: 'a@b.c', password: 'p' },
    ...{ label: 'prod', streamLabel: 'prod', complianceLabel: 'prod' },
    ...{ publisher: 'twitter', consumerKey: 'k', consumerSecret: 's' },
    ...{ accessToken: 't', accessTokenSecret: 's' },
  },
  {},
);
const STAGES = [...SOURCES, 'engagement'] as const;
const CALLS: Readonly<Record<(typeof STAGES)[number], (options: never) => unknown>> = {
  search: o => millrace.search(acme, o),
  searchRules: o => millrace.search(acme, unchecked({ rules: [], ...unchecked<object>(o) })),
  counts: o => millrace.counts(acme, o),
  replay: o => millrace.replay(acme, o),
  jobFiles: o => millrace.jobFiles(acme, 'uuid', o),
  compliance: o => millrace.compliance(acme, o),
  engagement: o => millrace.engagement(acme, o),
};

describe('the tests of option combinations for sources of a service', () => {
  it.each(STAGES)('list a value for every option of %s', async stage => {
    const options = await optionNames(CALLS[stage]);
    expect(options).not.toEqual([]);
    expect(listedOptions(stage, SERVICE_VALUES, FIXED_OF_SERVICE)).toEqual(options);
  });
});

const { rows, pairs, missing, tried } = suiteRows(SERVICE_DOMAIN, SERVICE_RULES);

describe('the tested combinations of options for sources of a service', () => {
  it('contain every pair of options, except pairs that conflict', () => {
    expect(pairs).toBeGreaterThan(2_000);
    const unexplained = missing.filter(
      pair => conflictOf(pair, SERVICE_DOMAIN, SERVICE_RULES) === undefined,
    );
    expect(unexplained).toEqual([]);
  });

  it.each(
    SERVICE_RULES.conflicts
      .filter(({ refused }) => refused !== undefined)
      .map(conflict => [conflict.reason, conflict] as const),
  )(
    'omit a pair that causes an OptionError before a request: %s',
    async (_, { refused, holds }) => {
      const row = completed(refused!.row, SERVICE_DOMAIN, SERVICE_RULES);
      expect(holds(row)).toBe(true);
      const run = new ServiceRow(row, await temporaryFolder());
      const error = await Promise.resolve()
        .then(() => run.run())
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option: refused!.option });
      expect(run.requests).toBe(0);
    },
  );

  it('include runs whose job files are processed completely by worker threads', () => {
    expect(rows.filter(usesThreads).length).toBeGreaterThan(2);
  });

  it.each(tried)('deliver each item exactly once (%s)', async (_, { row }) => {
    asked = askedOfThreads();
    if ((await errorOf(row)) !== undefined)
      throw await smallestFailure(row, SERVICE_DOMAIN, SERVICE_RULES, errorOf);
  });
});

let asked: ReturnType<typeof askedOfThreads>;

function usesThreads(row: Row): boolean {
  const { values, others } = SERVICE_RULES.alone;
  return (
    row.jobFiles === 'yes' && hasValues(row, values) && !others.some(other => hasValues(row, other))
  );
}

async function errorOf(row: Row): Promise<unknown> {
  try {
    const before = asked('decode');
    await tryServiceRow(row);
    if (usesThreads(row)) expect(asked('decode') - before).toBeGreaterThan(0);
    return undefined;
  } catch (error) {
    return error ?? new Error('undefined');
  }
}
