const cleanups = new Set<() => Promise<void>>();

/**
 * Calls a function after each test of every file; `setup.ts` takes care of that. A module that
 * several files share is imported only once per process, so its own `afterEach` would apply only to
 * the first file.
 */
export function afterTests(cleanUp: () => Promise<void>): void {
  cleanups.add(cleanUp);
}

export async function cleanUpAfterTest(): Promise<void> {
  for (const cleanUp of cleanups) await cleanUp();
}
