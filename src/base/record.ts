export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function withoutUndefined<T>(
  members: Readonly<Record<string, T | undefined>>,
): Readonly<Record<string, T>> {
  const entries = Object.entries(members);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, T] => entry[1] !== undefined),
  );
}
