import { DataError } from '../errors.js';

/** Which message of a stream it is. */
interface MessageId {
  readonly stream: string;
  readonly subject: string;
  readonly seq: number;
}

/**
 * Adds which message it was, and what to do about it, to an error about its bytes, headers or items. Returns any other
 * error unchanged.
 */
export function errorOfMessage(
  { stream, subject, seq }: MessageId,
  error: unknown,
  advice = '',
): unknown {
  if (!(error instanceof DataError)) return error;
  const origin = `sequence ${seq} of the subject ${subject} of the stream ${stream}`;
  return new DataError(error.message, { cause: error, position: { origin }, advice });
}
