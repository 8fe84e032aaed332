type Library = Pick<typeof import('../../src/index.js'), 'MillraceError'>;

export type TypedError = Error & { readonly code: string };

/**
 * Runs a function. Resolves to its error if the error is one of the library's. Resolves to
 * undefined if there is no error. Throws any other error, which fails the trial.
 */
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
