interface FailedWith {
  readonly name?: string;
  message: string;
  stack?: string | undefined;
  /**
   * The members of a `SuppressedError`: `error` is the error that a disposal threw, and
   * `suppressed` is the error that the test had thrown before.
   */
  readonly error?: unknown;
  readonly suppressed?: unknown;
}

/**
 * Sets the message of a `SuppressedError` to the messages of both errors in it. JavaScript throws
 * this error, without a message, if a test fails and then a disposal of `await using` fails too.
 */
export function explainSuppressed(failed: FailedWith): void {
  if (failed.name !== 'SuppressedError' || failed.message !== '') return;
  const [before, after] = [failed.suppressed, failed.error].map(error =>
    String(Object(error).message ?? error),
  );
  const message = `${before}; then its disposal: ${after}`;
  // The stack may be created when it is first read, from the message of that moment. Therefore, the
  // stack is read before the message changes.
  const { stack } = failed;
  failed.message = message;
  failed.stack = stack?.replace(/^SuppressedError: /, title => title + message);
}
