const cleanups = new Set<() => Promise<void>>();

/**
 * Calls a function after each test of every file; `setup.ts` takes care of that. If several files
 * import the same module, it is loaded only once per process, so its own `afterEach` would apply
 * only to the first of these files.
 */
export function afterTests(cleanUp: () => Promise<void>): void {
  cleanups.add(cleanUp);
}

export async function cleanUpAfterTest(): Promise<void> {
  for (const cleanUp of cleanups) await cleanUp();
}
