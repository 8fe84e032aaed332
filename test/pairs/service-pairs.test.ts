import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import * as millrace from '../../src/index.js';
import { propertySeed } from '../property-seed.js';
import { seeded } from '../storage/simulated-disk.js';
import { isEveryday, isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { conflictOf, coveringRows, type Row } from './covering-rows.js';
import { optionNames } from './option-names.js';
import { ServiceRow, startService, stopService, tryServiceRow } from './run-service-row.js';
import {
  FIXED_OF_SERVICE,
  SERVICE_DOMAIN,
  SERVICE_RULES,
  SERVICE_VALUES,
  SOURCES,
} from './service-values.js';
import { completed, smallestFailure } from './smallest-failure.js';

beforeAll(startService);
afterAll(stopService);

const acme = millrace.account(
  {
    ...{ url: 'http://127.0.0.1:1', account: 'acme', email: 'a@b.c', password: 'p' },
    ...{ label: 'prod', streamLabel: 'prod' },
  },
  {},
);
const CALLS: Readonly<Record<(typeof SOURCES)[number], (options: never) => unknown>> = {
  search: o => millrace.search(acme, o),
  searchRules: o => millrace.search(acme, unchecked({ rules: [], ...unchecked<object>(o) })),
  counts: o => millrace.counts(acme, o),
  replay: o => millrace.replay(acme, o),
};

describe('the options of sources of a service', () => {
  it.each(SOURCES)('the pair table lists a value for every option of %s', async source => {
    const options = await optionNames(CALLS[source]);
    const fixed = FIXED_OF_SERVICE.flatMap(key =>
      key.startsWith(`${source}.`) ? [key.slice(source.length + 1)] : [],
    );
    expect(options).not.toEqual([]);
    expect([...Object.keys(SERVICE_VALUES[source]!), ...fixed].toSorted()).toEqual(
      options.toSorted(),
    );
  });
});

const SEED = isNightly ? (propertySeed(process.env.MILLRACE_SEED) ?? Date.now()) : 1;
const { rows, pairs, missing } = coveringRows(SERVICE_DOMAIN, SERVICE_RULES, seeded(SEED));

describe('a covering set of option rows for service sources', () => {
  it('covers every pair of options, except pairs that conflict', () => {
    expect(pairs).toBeGreaterThan(2_000);
    const unexplained = missing.filter(
      pair => conflictOf(pair, SERVICE_DOMAIN, SERVICE_RULES) === undefined,
    );
    expect(unexplained).toEqual([]);
  });

  it.each(SERVICE_RULES.conflicts.filter(({ refused }) => refused !== undefined))(
    'excludes a pair that is refused before a request: $reason',
    async ({ refused, holds }) => {
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

  const all = rows.map((row, number) => ({ row, number }));
  const some = all.filter(({ number }) => !isEveryday || number % 4 === 0);
  it.each(some)('delivers each item once: row $number', async ({ row }) => {
    if ((await errorOf(row)) !== undefined)
      throw await smallestFailure(row, SERVICE_DOMAIN, SERVICE_RULES, errorOf);
  });
});

async function errorOf(row: Row): Promise<unknown> {
  try {
    await tryServiceRow(row);
    return undefined;
  } catch (error) {
    return error ?? new Error('undefined');
  }
}
