import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import type { Tombstones } from '../../src/compliance/tombstones.js';
import * as millrace from '../../src/index.js';
import { askedOfThreads } from '../files/asked-of-threads.js';
import { temporaryFolder } from '../temporary-folder.js';
import { conflictOf, hasValues, type Row } from './covering-rows.js';
import { filesRead } from './expected.js';
import { listedOptions, optionNames } from './option-names.js';
import { RowRun, tombstonesOfPairs, tryRow } from './run-stored-row.js';
import { completed, smallestFailure } from './smallest-failure.js';
import { store, storedFiles } from './stored-input.js';
import { DOMAIN, FIXED, RULES, VALUES } from './stored-values.js';
import { suiteRows } from './suite-rows.js';

let tombstones: Tombstones;
beforeAll(async () => {
  tombstones = await tombstonesOfPairs();
});
afterAll(() => tombstones.close());

const post = new millrace.Activity(Buffer.from('{"id":1}'));

const CALLS: Readonly<Record<string, (options: never) => unknown>> = {
  pipeline: o => millrace.pipeline(post as never, millrace.collect(), o),
  localFiles: o => millrace.localFiles('x', o),
  gunzip: o => millrace.gunzip(o),
  jsonLines: o => millrace.jsonLines(o),
  activities: o => millrace.activities(o),
  matchRules: o => millrace.matchRules([], o),
  withoutDeleted: o => millrace.withoutDeleted(tombstones, o),
  dedupe: o => millrace.dedupe(o),
  sample: o => millrace.sample(o),
  filter: o => millrace.filter(() => true, o),
  mapAsync: o => millrace.mapAsync(async item => item, o),
  routeByTag: o => millrace.routeByTag(o),
  tee: o => millrace.tee(millrace.collect(), o),
  files: o => millrace.files(o),
  csv: o => millrace.csv(o),
  parquet: o => millrace.parquet(o),
  committed: o => millrace.committed(o),
};

describe('the tests of option combinations for stored files', () => {
  it.each(Object.keys(CALLS))('list a value for every option of %s', async stage => {
    const options = await optionNames(CALLS[stage]!);
    expect(options).not.toEqual([]);
    expect(listedOptions(stage, VALUES, FIXED)).toEqual(options);
  });
});

let stopped = 0;
let asked: ReturnType<typeof askedOfThreads>;
const { rows, pairs, missing, tried } = suiteRows(DOMAIN, RULES);

describe('the tested combinations of options for stored files', () => {
  it('include runs whose posts are processed completely by worker threads', () => {
    expect(rows.filter(usesThreads).length).toBeGreaterThan(10);
  });

  it('contain every pair of options, except pairs that conflict', () => {
    expect(pairs).toBeGreaterThan(10_000);
    const unexplained = missing.filter(pair => conflictOf(pair, DOMAIN, RULES) === undefined);
    expect(unexplained).toEqual([]);
  });

  const { conflicts } = RULES;
  it.each(
    conflicts
      .filter(({ refused }) => refused !== undefined)
      .map(conflict => [conflict.reason, conflict] as const),
  )('omit a pair that causes an OptionError before any read: %s', async (_, { refused, holds }) => {
    const row = completed(refused!.row, DOMAIN, RULES);
    expect(holds(row)).toBe(true);
    const run = new RowRun(row, await temporaryFolder(), tombstones);
    for (const file of storedFiles(row)) await store(run.input, file, row);
    const error = await run.run().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option: refused!.option });
    expect((await run.outputs()).size).toBe(0);
  });

  it.each(tried)('deliver each post exactly once (%s)', async (_, { row, number }) => {
    asked = askedOfThreads();
    if ((await errorOf(row, number)) === undefined) return;
    throw await smallestFailure(row, DOMAIN, RULES, smaller => errorOf(smaller, number));
  });

  it('abort most of the runs that they are supposed to abort', () => {
    const stops = tried.filter(([, { row }]) => row['flow.(stop)'] !== 'none');
    expect(stopped).toBeGreaterThan(0.6 * stops.length);
  });
});

function usesThreads(row: Row): boolean {
  const { values, others } = RULES.alone;
  return (
    values.some(value => hasValues(row, [value])) && !others.some(other => hasValues(row, other))
  );
}

async function errorOf(row: Row, number: number): Promise<unknown> {
  try {
    const before = asked('decode');
    if (await tryRow(row, number, tombstones)) stopped++;
    if (usesThreads(row) && filesRead(row, storedFiles(row)).length > 0)
      expect(asked('decode') - before).toBeGreaterThan(0);
    return undefined;
  } catch (error) {
    return error ?? new Error('undefined');
  }
}
