import { expect, it } from 'vitest';
import { LIMITS, type Rate } from '../../src/http/rate-limits.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/time.js';

it('the limits have the documented defaults', () => {
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
