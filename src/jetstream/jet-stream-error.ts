import { MillraceError, type MillraceErrorOptions } from '../errors.js';
import type { Cursor } from '../flow/flow.js';

/**
 * How a publisher or reader of a stream failed:
 * - `packages`: the NATS client is not installed;
 * - `refused`: the servers refuse the login, a permission or a request;
 * - `outage`: the servers were out of reach, or without a leader, for longer than `maxOutageMs`;
 * - `full`: the stream or the disk of its servers had no space for longer than `maxOutageMs`;
 * - `stream`: it does not exist, has other settings than asked for, or was deleted, as its bucket of publishers may be;
 * - `in-use`: another process publishes under this name;
 * - `taken-over`: another process has begun to publish under this name, so this one stopped;
 * - `publisher`: what the servers keep of this publisher is of another flow, damaged, or too large.
 */
export type JetStreamFailure =
  | 'packages'
  | 'refused'
  | 'outage'
  | 'full'
  | 'stream'
  | 'in-use'
  | 'taken-over'
  | 'publisher';

/** A publisher or reader of a JetStream stream that cannot go on. The message says what to do. */
export class JetStreamError extends MillraceError {
  readonly code = 'ERR_JETSTREAM';
  readonly failure: JetStreamFailure;
  /** Where the same script goes on: the last cursor that was committed, or whose posts were delivered. */
  override readonly cursor: Cursor | undefined;

  constructor(
    message: string,
    details: MillraceErrorOptions & {
      readonly failure: JetStreamFailure;
      readonly cursor?: Cursor | undefined;
    },
  ) {
    super(message, details);
    this.failure = details.failure;
    this.cursor = details.cursor;
  }
}
