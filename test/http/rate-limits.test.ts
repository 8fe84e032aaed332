import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/base/time.js';
import { account } from '../../src/http/account.js';
import { LIMITS, type Rate } from '../../src/http/rate-limits.js';
import { unchecked } from '../unchecked.js';

it('the rate limits have the documented defaults', () => {
  const spoken = (rates: readonly Rate[]) => rates.map(({ requests, perMs }) => [requests, perMs]);
  expect(spoken(LIMITS.search)).toEqual([[20, SECOND]]);
  expect(spoken(LIMITS.jobReads)).toEqual([[5, 5 * SECOND]]);
  expect(spoken(LIMITS.jobCreation)).toEqual([
    [30, HOUR],
    [60, DAY],
  ]);
  expect(spoken(LIMITS.replay)).toEqual([[5, 5 * MINUTE]]);
  expect(spoken(LIMITS.compliance)).toEqual([[10, MINUTE]]);
  expect(spoken(LIMITS.replayRules)).toEqual([
    [5, 5 * SECOND],
    [60, MINUTE],
  ]);
  expect(spoken(LIMITS.usage)).toEqual([[2, MINUTE]]);
});

describe('the rate limits that a caller configures', () => {
  it.each([
    [[]],
    [[{ requests: 1, perMs: 0.5 }]],
    [
      [
        { requests: 9, perMs: 1 },
        { requests: 1, perMs: 2 },
      ],
    ],
  ])('may be %j', search => {
    expect(() => account({ limits: { search } }, {})).not.toThrow();
  });

  it.each([
    7,
    {},
    [7],
    [null],
    [{}],
    [{ requests: 0, perMs: 1 }],
    [{ requests: 1.5, perMs: 1 }],
    [{ requests: '1', perMs: 1 }],
    [{ requests: 1, perMs: 0 }],
    [{ requests: 1, perMs: Number.NaN }],
    [{ requests: 1 }],
  ])('cause an OptionError if they are %j', search => {
    const make = () => account(unchecked({ limits: { search } }), {});
    expect(make).toThrow(OptionError);
    expect(make).toThrow('a list of rates such as');
  });
});
