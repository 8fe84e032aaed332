/** The members of an object that are not `undefined`. */
export function withoutUndefined<T>(
  members: Readonly<Record<string, T | undefined>>,
): Readonly<Record<string, T>> {
  const entries = Object.entries(members);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, T] => entry[1] !== undefined),
  );
}
