import { parseTimestamp } from '../time.js';
import type { UsageRow } from '../usage/usage-table.js';
import { builtIn, type ItemKind } from './built-in.js';

const USAGE: ItemKind = {
  name: 'usage rows',
  accepts: item => {
    const { publisher, period } = Object(item) as Partial<UsageRow>;
    return typeof publisher === 'string' && typeof period === 'string';
  },
};

/** The columns of a usage report, for the rows of `usage.rows`. */
export const usage = builtIn(USAGE, (row: UsageRow) => row, {
  publisher: { type: 'string', meaning: 'Name', value: ({ publisher }) => publisher },
  product: {
    type: 'string',
    meaning: 'Name; null for the publisher as a whole',
    value: ({ product }) => product,
  },
  period: {
    type: 'string',
    meaning: '`2024-05`, or `2024-05-31` of reports by day',
    value: ({ period }) => period,
  },
  from_date: {
    type: 'timestamp',
    meaning: 'Start of the period, inclusive',
    value: ({ fromDate }) => instant(fromDate),
  },
  to_date: {
    type: 'timestamp',
    meaning: 'Its end, exclusive',
    value: ({ toDate }) => instant(toDate),
  },
  activities: { type: 'int64', meaning: 'Posts used', value: ({ activities }) => activities },
  requests: {
    type: 'int64',
    meaning: 'Requests, of search products',
    value: ({ requests }) => requests,
  },
  projected: {
    type: 'int64',
    meaning: 'Posts that the month will come to, in the present month',
    value: ({ projected }) => projected,
  },
  threshold: {
    type: 'int64',
    meaning: 'What the contract allows in a month',
    value: ({ threshold }) => threshold,
  },
  threshold_of: {
    type: 'string',
    meaning: 'What `threshold` is of: `activities` or `requests`',
    value: ({ thresholdOf }) => thresholdOf,
  },
  alert: {
    type: 'int64',
    meaning: 'Posts in a month from which on the account is warned',
    value: ({ alert }) => alert,
  },
});

function instant(timestamp: string): Date | undefined {
  const ms = parseTimestamp(timestamp);
  return ms === undefined ? undefined : new Date(ms);
}
