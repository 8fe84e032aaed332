import { type Checked, type OptionTable, oneOf, whole } from '../../check.js';
import { withFlag } from '../option-flags.js';

export interface UsageOptions {
  /** Activities in a month from which on the account is warned. */
  readonly usageAlert?: number | undefined;
  /** Activities in a month that the contract allows. Reported; nothing stops there. */
  readonly usageCap?: number | undefined;
  /** Requests in a month that the contract allows on each search product. Reported; nothing stops there. */
  readonly requestCap?: number | undefined;
  /** Status of the account in the usage report. */
  readonly accountStatus?: 'active' | 'inactive' | undefined;
}

export type UsageSettings = Checked<UsageOptions, typeof USAGE_OPTIONS>;

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
