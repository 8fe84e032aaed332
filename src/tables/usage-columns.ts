import { parseTimestamp } from '../base/time.js';
import { builtIn, definer, type ItemKind } from './column.js';

/** The members of a row of `usage.rows` that the columns read. */
interface UsageItem {
  readonly publisher: string;
  readonly product: string | null;
  readonly period: string;
  readonly fromDate: string;
  readonly toDate: string;
  readonly activities: number;
  readonly requests: number | null;
  readonly projected: number | null;
  readonly threshold: number | null;
  readonly thresholdOf: string | null;
  readonly alert: number | null;
}

const USAGE: ItemKind = {
  name: 'usage rows',
  accepts: item => {
    const { publisher, period } = Object(item) as Partial<UsageItem>;
    return typeof publisher === 'string' && typeof period === 'string';
  },
};

const of = definer<UsageItem>();

/** The columns for a usage report, which read the items of `usage.rows`. */
export const usageColumns = builtIn(USAGE, (row: UsageItem) => row, {
  publisher: of('string', 'Name', ({ publisher }) => publisher),
  product: of('string', 'Name; null for the publisher as a whole', ({ product }) => product),
  period: of('string', '`2024-05`, or `2024-05-31` of reports by day', ({ period }) => period),
  from_date: of('timestamp', 'Start of the period, inclusive', ({ fromDate }) => instant(fromDate)),
  to_date: of('timestamp', 'Its end, exclusive', ({ toDate }) => instant(toDate)),
  activities: of('int64', 'Posts used', ({ activities }) => activities),
  requests: of('int64', 'Requests, of search products', ({ requests }) => requests),
  projected: of(
    'int64',
    'Posts that the month will come to, in the present month',
    ({ projected }) => projected,
  ),
  threshold: of('int64', 'What the contract allows in a month', ({ threshold }) => threshold),
  threshold_of: of(
    'string',
    'What `threshold` is of: `activities` or `requests`',
    ({ thresholdOf }) => thresholdOf,
  ),
  alert: of('int64', 'Posts in a month from which on the account is warned', ({ alert }) => alert),
});

function instant(timestamp: string): Date | undefined {
  const ms = parseTimestamp(timestamp);
  return ms === undefined ? undefined : new Date(ms);
}
