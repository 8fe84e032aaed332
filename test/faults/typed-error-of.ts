type Library = Pick<typeof import('../../src/index.js'), 'MillraceError'>;

/** What all errors of the library have. */
export type TypedError = Error & { readonly code: string };

/** How a run ends: without an error, or with one of the library's. Any other one is a failure of the trial. */
export async function typedErrorOf(
  { MillraceError }: Library,
  run: () => Promise<unknown>,
): Promise<TypedError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
}
