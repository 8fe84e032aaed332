/** Loads LMDB, a native library, on first use: everything else works where it cannot be loaded. */
export async function loadLmdb(): Promise<typeof import('lmdb')> {
  try {
    // An import() that bundlers see.
    return await import('lmdb');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `LMDB, a native library, could not be loaded. In a bundle, keep \`lmdb\` external and install it where the bundle runs (${reason})`,
      { cause },
    );
  }
}
