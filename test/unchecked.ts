/**
 * Returns a value as a type that it does not have. Tests pass such values as arguments from plain
 * JavaScript, or as test doubles that have only a few members.
 */
export function unchecked<T = never>(value: unknown): T {
  return value as T;
}
