import { isRecord } from '../base/record.js';

/** A value that JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

// Type guards of values of parsed JSON.

/** Makes a check of objects whose members pass these checks; other members may be anything. */
export function shaped<T extends object>(
  members: {
    readonly [Name in keyof T]-?: (value: unknown) => boolean;
  },
): (value: unknown) => value is T {
  const checks = Object.entries<(value: unknown) => boolean>(members);
  return (value): value is T =>
    isRecord(value) && checks.every(([name, check]) => check(value[name]));
}

/** Makes a check of arrays whose values pass a check. */
export function listOf<T>(check: (value: unknown) => value is T) {
  return (value: unknown): value is readonly T[] => Array.isArray(value) && value.every(check);
}

/** Makes a check of objects whose members, of any name, all pass a check. */
export function recordOf<T>(check: (value: unknown) => value is T) {
  return (value: unknown): value is Readonly<Record<string, T>> =>
    isRecord(value) && Object.values(value).every(check);
}

/** Makes a check that `undefined` passes, too. */
export function optional(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return value => value === undefined || check(value);
}

/** The value of a JSON text; `undefined` where it is not JSON, or does not pass a check. */
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

/** Whether it is a whole number from 0, and small enough to be exact. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether it is an array of strings. */
export const isTexts = listOf(isText);
