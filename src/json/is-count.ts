/** Whether a value of JSON is a whole number from 0, and small enough to be exact. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
