import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { parseReplayCursor } from '../../src/replay/replay-cursor.js';

const range = { fromDate: '201801010000', toDate: '201801010010' };
const cursor = {
  source: 'replay',
  request: { url: 'x' },
  ids: {},
  chunkMinutes: 16,
  open: [{ ...range, mismatches: 0, failures: 0, partial: false }],
  gaps: [{ ...range, reason: 'expired' }],
};
const parse = (changes: object) => parseReplayCursor({ url: 'x' }, { ...cursor, ...changes });

describe('the cursor of a replay', () => {
  it('is the same after it is saved and parsed', () => {
    expect(parse({}).state).toMatchObject({ chunk: 960_000, gaps: [{ reason: 'expired' }] });
  });

  it('causes an error that names the service if the service differs, unless an older version wrote the cursor', () => {
    const resume = (before: object, now: Record<string, string>) =>
      parseReplayCursor({ url: 'x', ...now }, { ...cursor, request: { url: 'x', ...before } });
    expect(() => resume({ service: 'a.example' }, { service: 'b.example' })).toThrow(
      'its service was "a.example", and now it is "b.example"',
    );
    expect(() => resume({ service: 'a.example' }, {})).toThrow('and now it is not given');
    expect(resume({}, { service: 'b.example' }).state).toMatchObject({ chunk: 960_000 });
  });

  it('may contain connection times, which an older version wrote', () => {
    expect(parse({ connects: ['20180101000000'] }).state).toEqual(parse({}).state);
  });

  it('causes an error that names the shard in a run without shards if the cursor belongs to a shard', () => {
    expect(() => parse({ request: { url: 'x', shard: '1/2' } })).toThrow(
      'its shard was "1/2", and now it is not given',
    );
  });

  it.each([
    [
      'an open range that ends before it begins',
      { open: [{ ...cursor.open[0], toDate: '201712310000' }] },
    ],
    ['an empty open range', { open: [{ ...cursor.open[0], toDate: range.fromDate }] }],
    ['a gap that ends before it begins', { gaps: [{ ...cursor.gaps[0], toDate: '201712310000' }] }],
    ['a range length of 0 minutes', { chunkMinutes: 0 }],
  ])('causes an OptionError if it contains %s', (_, damage) => {
    expect(() => parse(damage)).toThrow(OptionError);
  });
});
