/** Loads LMDB, a native library, when it is first needed: all else must work where it cannot be loaded. */
export async function loadLmdb(): Promise<typeof import('lmdb')> {
  try {
    // A bundler sees this import, and leaves it where it is.
    return await import('lmdb');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `LMDB, a native library, could not be loaded. In a bundle, keep \`lmdb\` external and install it where the bundle runs (${reason})`,
      { cause },
    );
  }
}
