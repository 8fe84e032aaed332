/** Returns the error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  if (outcome === undefined) throw new Error('It did not fail');
  return outcome;
}
