/**
 * A value as a type that it does not have: what a caller in plain JavaScript may pass, and doubles of objects of which a
 * test needs a few members.
 */
export function unchecked<T = never>(value: unknown): T {
  return value as T;
}
