import { expect, it } from 'vitest';
import * as tables from '../../src/tables/tables.js';

it('the row of a counts bucket contains every value of the bucket', () => {
  const start = new Date('2024-03-05T14:00Z');
  expect(tables.toRow(tables.counts)({ timePeriod: '202403051400', start, count: 12 })).toEqual({
    time_period: '202403051400',
    start,
    count: 12n,
  });
});
