import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { fromJetStream, toJetStream } from '../../src/jetstream/index.js';
import { hasNatsServer } from '../jetstream/nats-server.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { conflictOf, type Row } from './covering-rows.js';
import {
  FIXED_OF_JETSTREAM,
  JETSTREAM_OPTIONS,
  JETSTREAM_RULES,
  JETSTREAM_VALUES,
} from './jetstream-values.js';
import { listedOptions, optionNames } from './option-names.js';
import {
  JetStreamRow,
  startJetStream,
  stopJetStream,
  tryJetStreamRow,
} from './run-jetstream-row.js';
import { completed, smallestFailure } from './smallest-failure.js';
import { suiteRows } from './suite-rows.js';

const CALLS: Readonly<Record<string, (options: never) => unknown>> = {
  toJetStream: o => toJetStream(o),
  fromJetStream: o => fromJetStream(unchecked(o)),
};

describe('the tests of option combinations for JetStream', () => {
  it.each(Object.keys(CALLS))('list a value for every option of %s', async call => {
    const options = await optionNames(CALLS[call]!);
    expect(options).not.toEqual([]);
    expect(listedOptions(call, JETSTREAM_VALUES, FIXED_OF_JETSTREAM)).toEqual(options);
  });
});

const { pairs, missing, tried } = suiteRows(JETSTREAM_OPTIONS, JETSTREAM_RULES);

describe.skipIf(!hasNatsServer)('the tested combinations of options for JetStream', () => {
  beforeAll(startJetStream);
  afterAll(stopJetStream);

  it('contain every pair of options, except pairs that conflict', () => {
    expect(pairs).toBeGreaterThan(1_500);
    const unexplained = missing.filter(
      pair => conflictOf(pair, JETSTREAM_OPTIONS, JETSTREAM_RULES) === undefined,
    );
    expect(unexplained).toEqual([]);
  });

  it.each(
    JETSTREAM_RULES.conflicts
      .filter(({ refused }) => refused !== undefined)
      .map(conflict => [conflict.reason, conflict] as const),
  )(
    'omit a pair that causes an OptionError before a connection: %s',
    async (_, { refused, holds }) => {
      const row = completed(refused!.row, JETSTREAM_OPTIONS, JETSTREAM_RULES);
      expect(holds(row)).toBe(true);
      const run = new JetStreamRow(row, 'refused', await temporaryFolder());
      const [reader] = run.readers;
      const isOfReader = Object.keys(refused!.row).some(key => key.startsWith('from'));
      const error = await Promise.resolve()
        .then(() => (isOfReader ? run.read(reader!) : run.publish()))
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option: refused!.option });
      expect(run.connections).toBe(0);
    },
  );

  it.each(tried)('deliver each post through a stream exactly once (%s)', async (_, { row }) => {
    if ((await errorOf(row)) !== undefined)
      throw await smallestFailure(row, JETSTREAM_OPTIONS, JETSTREAM_RULES, errorOf);
  });

  it('abort most of the runs that they are supposed to abort', () => {
    const isStopped = (how: string | undefined) => how === 'abort' || how === 'source fails';
    const stops = tried
      .flatMap(([, { row }]) => [row['flow.(publishing)'], row['flow.(reading)']])
      .filter(isStopped);
    expect(stopped).toBeGreaterThan(0.6 * stops.length);
  });
});

let stopped = 0;

async function errorOf(row: Row): Promise<unknown> {
  try {
    stopped += await tryJetStreamRow(row);
    return undefined;
  } catch (error) {
    return error ?? new Error('undefined');
  }
}
