interface FailedWith {
  readonly name?: string;
  message: string;
  stack?: string | undefined;
  /** Of a `SuppressedError`: what a disposal threw, and what the test had thrown before. */
  readonly error?: unknown;
  readonly suppressed?: unknown;
}

/**
 * If a test fails, and then a disposal of `await using` does, JavaScript throws a `SuppressedError` of both without a
 * message. It gets the messages of both.
 */
export function explainSuppressed(failed: FailedWith): void {
  if (failed.name !== 'SuppressedError' || failed.message !== '') return;
  const [before, after] = [failed.suppressed, failed.error].map(error =>
    String(Object(error).message ?? error),
  );
  const message = `${before}; then its disposal: ${after}`;
  // Before the message is set: the stack may be made at its first use, with the message of that time.
  const { stack } = failed;
  failed.message = message;
  failed.stack = stack?.replace(/^SuppressedError: /, title => title + message);
}
