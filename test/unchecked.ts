/**
 * Returns a value as a type that it does not have. For example, for an argument from plain
 * JavaScript, or for a test double that has only a few members.
 */
export function unchecked<T = never>(value: unknown): T {
  return value as T;
}
