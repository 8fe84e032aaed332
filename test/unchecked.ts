/**
 * Returns a value as a type that it does not have, such as arguments from plain JavaScript, or a
 * test double with only a few members.
 */
export function unchecked<T = never>(value: unknown): T {
  return value as T;
}
