import { inspect } from 'node:util';

/** Prints a value, and an error with its causes, in every way that a program might. */
export function show(what: string, value: unknown): void {
  console.log(what, value);
  console.error(inspect(value, { depth: 12, showHidden: true, getters: true }));
  console.log(String(value), JSON.stringify(value, circularAsText()));
  for (let error = value; error instanceof Error; error = error.cause)
    console.log(
      error.stack,
      error.message,
      JSON.stringify(error, Object.getOwnPropertyNames(error)),
    );
}

function circularAsText() {
  const seen = new Set<unknown>();
  return (_: string, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return '[seen]';
    seen.add(value);
    return value;
  };
}
