import { DataError } from '../errors.js';

/** Which message of a stream it is. */
interface MessageId {
  readonly stream: string;
  readonly subject: string;
  readonly seq: number;
}

/** What to do about a message under the name of a publisher which it cannot read. */
export function publisherAdvice(stream: string, seq: number, key: string): string {
  return `Delete the message (\`nats stream rmm ${stream} ${seq}\`), and the entry of the publisher ${key} to publish everything again`;
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
