import { expect, it } from 'vitest';
import * as tables from '../../src/tables/tables.js';

it('the row of a usage report contains each of its values', () => {
  const row = tables.toRow(tables.usage)({
    publisher: 'Twitter',
    product: null,
    period: '2024-05',
    fromDate: '202405010000',
    toDate: '202406010000',
    activities: 3_000_000_000,
    requests: null,
    projected: 7,
    threshold: 10,
    thresholdOf: 'activities',
    alert: null,
  });
  expect(row).toEqual({
    publisher: 'Twitter',
    product: null,
    period: '2024-05',
    from_date: new Date('2024-05-01'),
    to_date: new Date('2024-06-01'),
    activities: 3_000_000_000n,
    requests: null,
    projected: 7n,
    threshold: 10n,
    threshold_of: 'activities',
    alert: null,
  });
});
