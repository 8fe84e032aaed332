import type { Check } from '../option-check.js';

export interface UsageOptions {
  /** Activities in a month from which on the account is warned (service.md 2.8). */
  readonly usageAlert?: number | undefined;
  /** Activities in a month that the contract allows. Reported; nothing stops there. */
  readonly usageCap?: number | undefined;
  /** Requests in a month that the contract allows on each search product. Reported; nothing stops there. */
  readonly requestCap?: number | undefined;
  /** Status of the account in the usage report. */
  readonly accountStatus?: 'active' | 'inactive' | undefined;
}

export interface UsageSettings {
  readonly usageAlert: number | undefined;
  readonly usageCap: number | undefined;
  readonly requestCap: number | undefined;
  readonly accountStatus: 'active' | 'inactive';
}

export function usageSettings(options: UsageOptions): UsageSettings {
  const { usageAlert, usageCap, requestCap, accountStatus = 'active' } = options;
  return { usageAlert, usageCap, requestCap, accountStatus };
}

const count: Check = [
  value => Number.isSafeInteger(value) && Number(value) > 0,
  'an integer greater than 0',
];

export const USAGE_CHECKS: Record<keyof UsageOptions, Check> = {
  usageAlert: count,
  usageCap: count,
  requestCap: count,
  accountStatus: [value => value === 'active' || value === 'inactive', "'active' or 'inactive'"],
};
