interface FailedWith {
  readonly name?: string;
  message: string;
  stack?: string | undefined;
  /**
   * The members of a `SuppressedError`: `error` is what a disposal threw, `suppressed` what the
   * test had thrown before.
   */
  readonly error?: unknown;
  readonly suppressed?: unknown;
}

/**
 * If a test fails and then a disposal of `await using` fails too, JavaScript throws a
 * `SuppressedError` without a message. This sets its message to the messages of both errors.
 */
export function explainSuppressed(failed: FailedWith): void {
  if (failed.name !== 'SuppressedError' || failed.message !== '') return;
  const [before, after] = [failed.suppressed, failed.error].map(error =>
    String(Object(error).message ?? error),
  );
  const message = `${before}; then its disposal: ${after}`;
  // Reads the stack before the message changes, because it may be created on first use, with the
  // message of that time.
  const { stack } = failed;
  failed.message = message;
  failed.stack = stack?.replace(/^SuppressedError: /, title => title + message);
}
