import { DataError } from '../errors.js';

/** Which message of a stream it is. */
export interface MessagePlace {
  readonly stream: string;
  readonly subject: string;
  readonly seq: number;
}

/** Adds which message it was to an error about its bytes or headers. Returns any other error unchanged. */
export function errorOfMessage(
  { stream, subject, seq }: MessagePlace,
  error: unknown,
  advice = '',
): unknown {
  if (!(error instanceof DataError)) return error;
  const origin = `sequence ${seq} of the subject ${subject} of the stream ${stream}`;
  return new DataError(`${error.message}${advice}`, { cause: error, position: { origin } });
}
