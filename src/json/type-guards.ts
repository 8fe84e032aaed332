import { isRecord } from '../base/record.js';

/** A value that JSON can represent. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * Returns a type guard for objects. Each listed member must pass its check. Other members may have any value.
 */
export function shaped<T extends object>(
  members: {
    readonly [Name in keyof T]-?: (value: unknown) => boolean;
  },
): (value: unknown) => value is T {
  const checks = Object.entries<(value: unknown) => boolean>(members);
  return (value): value is T =>
    isRecord(value) && checks.every(([name, check]) => check(value[name]));
}

export function listOf<T>(check: (value: unknown) => value is T) {
  return (value: unknown): value is readonly T[] => Array.isArray(value) && value.every(check);
}

export function recordOf<T>(check: (value: unknown) => value is T) {
  return (value: unknown): value is Readonly<Record<string, T>> =>
    isRecord(value) && Object.values(value).every(check);
}

export function optional(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return value => value === undefined || check(value);
}

export function parsedAs<T>(text: string, check: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return check(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export const isTexts = listOf(isText);
