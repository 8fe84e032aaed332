const cleanups = new Set<() => Promise<void>>();

/**
 * Registers a function that `setup.ts` calls after each test of every file. A module that several
 * test files import is loaded only once per process. An `afterEach` in that module would therefore
 * apply only to the first of these files.
 */
export function afterTests(cleanUp: () => Promise<void>): void {
  cleanups.add(cleanUp);
}

export async function cleanUpAfterTest(): Promise<void> {
  for (const cleanUp of cleanups) await cleanUp();
}
