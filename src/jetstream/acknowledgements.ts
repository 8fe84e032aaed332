import type { PubAck } from '@nats-io/jetstream';
import type { Msg, MsgHdrs, NatsConnection, Subscription } from '@nats-io/transport-node';
import { bufferOf } from '../json/byte-codes.js';
import { isCount, isFlag, isText, optional, parsedAs, shaped } from '../json/type-guards.js';
import { NotStored, StaleAnswer } from './jet-stream-errors.js';
import type { Headers } from './message.js';
import type { Packages } from './packages.js';

/** How long the servers may take to acknowledge a message, in milliseconds. */
const ACKNOWLEDGED_MS = 5_000;
/** The status of the answer if no stream has the subject. */
const NO_RESPONDERS = 503;

type Ack = Pick<PubAck, 'stream' | 'seq'> & { readonly duplicate?: boolean | undefined };
type ApiError = ConstructorParameters<Packages['jetstream']['JetStreamApiError']>[0];

const isAck = shaped<Ack>({ stream: isText, seq: isCount, duplicate: optional(isFlag) });
const isRefusal = shaped<{ readonly error: ApiError }>({
  error: shaped<ApiError>({ code: isCount, err_code: isCount, description: isText }),
});
const isAnswer = (value: unknown): value is Ack | { readonly error: ApiError } =>
  isRefusal(value) || isAck(value);

interface Waiting {
  readonly subject: string;
  readonly since: number;
  readonly resolve: (ack: PubAck) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Publishes messages, and receives the acknowledgements of all of them through one subscription. The
 * client's own `publish` creates a request with a timer and several promises for each message, which takes
 * as long as everything else that a publisher does.
 */
export class Acknowledgements {
  readonly #nats: NatsConnection;
  readonly #packages: Packages;
  /** The messages that are not acknowledged yet, oldest first, by the last token of their reply subject. */
  readonly #waiting = new Map<string, Waiting>();
  #inbox = '';
  #subscription: Subscription | undefined;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(nats: NatsConnection, packages: Packages) {
    this.#nats = nats;
    this.#packages = packages;
  }

  /**
   * Sends a message once. Resolves once the servers have stored it. If the connection is lost or a permission
   * is missing, the client only emits a status event. `JetStreamConnection` then calls `reject`, which
   * rejects the returned promise.
   */
  publish(subject: string, payload: Uint8Array, headers: Headers): Promise<PubAck> {
    if (this.#isClosed) return Promise.reject(ended());
    this.#subscribe();
    const token = (this.#sent++).toString(36);
    return new Promise((resolve, reject) => {
      this.#waiting.set(token, { subject, since: performance.now(), resolve, reject });
      this.#timer ??= setTimeout(() => this.#rejectOverdue(), ACKNOWLEDGED_MS);
      try {
        this.#nats.publish(subject, payload, {
          reply: this.#inbox + token,
          headers: this.#encoded(headers),
        });
      } catch (error) {
        this.#waiting.delete(token);
        reject(error);
      }
    });
  }

  /**
   * Rejects the promises of all messages that are not acknowledged yet. If `subject` is given, rejects only
   * messages with that subject.
   */
  reject(error: unknown, subject?: string): void {
    for (const [token, message] of this.#waiting) {
      if (subject !== undefined && message.subject !== subject) continue;
      this.#waiting.delete(token);
      message.reject(error);
    }
  }

  /** Ends the subscription, because the connection may stay open after the run. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    this.reject(ended());
  }

  #subscribe(): void {
    if (this.#subscription !== undefined) return;
    // A login may permit only inboxes with the `inboxPrefix` of the connection. The type `NatsConnection`
    // does not declare `options`.
    const { options } = this.#nats as { readonly options?: { readonly inboxPrefix?: string } };
    this.#inbox = `${this.#packages.core.createInbox(options?.inboxPrefix)}.`;
    this.#subscription = this.#nats.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
        else {
          this.#subscription = undefined;
          this.reject(error);
        }
      },
    });
  }

  #receive(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length);
    const waiting = this.#waiting.get(token);
    // Ignores a late acknowledgement. Its message was already rejected, and the caller of `publish` repeats
    // it.
    if (waiting === undefined) return;
    this.#waiting.delete(token);
    try {
      waiting.resolve(this.#parsed(message));
    } catch (error) {
      waiting.reject(error);
    }
  }

  #parsed({ data, headers }: Msg): PubAck {
    if (data.length === 0 && headers?.code === NO_RESPONDERS)
      throw new NotStored('no stream has the subject');
    const answer = parsedAs(bufferOf(data).toString(), isAnswer);
    if (answer === undefined) throw new StaleAnswer('the answer is not an acknowledgement');
    if ('error' in answer) throw new this.#packages.jetstream.JetStreamApiError(answer.error);
    return { ...answer, duplicate: answer.duplicate ?? false };
  }

  #rejectOverdue(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [token, { since, reject }] of this.#waiting) {
      const leftMs = since + ACKNOWLEDGED_MS - now;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#rejectOverdue(), leftMs);
        return;
      }
      this.#waiting.delete(token);
      reject(new this.#packages.core.TimeoutError());
    }
  }

  /**
   * Encodes all headers in one pass. The client's own `set` searches all headers several times for each
   * header that it adds.
   */
  #encoded(headers: Headers): MsgHdrs {
    let text = 'NATS/1.0\r\n';
    for (const [name, value] of headers) {
      if (/[\r\n]/.test(value)) throw new TypeError(`The header ${name} has a line end`);
      text += `${name}: ${value}\r\n`;
    }
    return Object.assign(this.#packages.core.headers(), {
      encode: () => Buffer.from(`${text}\r\n`),
    });
  }
}

function ended(): StaleAnswer {
  return new StaleAnswer('the run has ended');
}
