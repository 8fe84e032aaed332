const cleanups = new Set<() => Promise<void>>();

/**
 * Calls the function after each test of every file, as `setup.ts` sees to. A module that files share is imported
 * once in a process, so its own `afterEach` would be that of the first file only.
 */
export function afterTests(cleanUp: () => Promise<void>): void {
  cleanups.add(cleanUp);
}

export async function cleanUpAfterTest(): Promise<void> {
  for (const cleanUp of cleanups) await cleanUp();
}
