export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  if (outcome === undefined) throw new Error('It did not fail');
  return outcome;
}
