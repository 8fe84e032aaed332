import { type OptionTable, oneOf, whole } from '../../check.js';
import { withFlag } from '../option-flags.js';

/** What the usage report says of the contract. */
export interface UsageOptions {
  /** Activities in a month that trigger the alert in the usage report. */
  readonly usageAlert?: number | undefined;
  /** Activities in a month that the contract allows. Only reported, not enforced. */
  readonly usageCap?: number | undefined;
  /** Requests in a month that the contract allows for each search product. Only reported, not enforced. */
  readonly requestCap?: number | undefined;
  /** Status of the account in the usage report. @default 'active' */
  readonly accountStatus?: 'active' | 'inactive' | undefined;
}

export const USAGE_OPTIONS = {
  usageAlert: withFlag(
    whole('activities a month from which the usage report warns', { min: 1 }),
    'usage-alert',
    'N',
  ),
  usageCap: withFlag(
    whole('activities a month that the contract allows, for the usage report', { min: 1 }),
    'usage-cap',
    'N',
  ),
  requestCap: withFlag(
    whole('search requests a month that the contract allows, for the usage report', { min: 1 }),
    'request-cap',
    'N',
  ),
  accountStatus: withFlag(
    oneOf('the account in the usage report: active or inactive', ['active', 'inactive'], 'active'),
    'account-status',
    'STATUS',
  ),
} as const satisfies OptionTable<UsageOptions>;
