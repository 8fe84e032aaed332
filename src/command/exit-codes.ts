import { IncompleteError, OptionError } from '../base/errors.js';

/** The exit codes of the command. 130 is that of a process that an interrupt ends. */
export const EXIT = { failed: 1, wrongCall: 2, incomplete: 3, interrupted: 130 } as const;

/** The exit code of a command that an error has ended. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof OptionError) return EXIT.wrongCall;
  return error instanceof IncompleteError ? EXIT.incomplete : EXIT.failed;
}
