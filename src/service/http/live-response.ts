import { constants } from 'node:zlib';
import { Gzip } from 'minizlib';
import { onceAborted } from '../../base/abortable.js';
import { WakeUp } from '../../base/wait.js';
import type { ServiceContext } from '../service-context.js';
import type { ContentCutFault } from './fault-types.js';
import { HttpProblem, messageErrorBody } from './http-problem.js';
import type { RequestContext } from './router.js';
import { acceptsGzip, StreamCutError, withinCharacter } from './send-response.js';
import { MessageRate, type OpenStream, type StreamFlow } from './stream-status.js';

export interface LiveResponseOptions {
  /** The time without a message after which a heartbeat is sent, in milliseconds. */
  readonly heartbeatMs: number;
  /** The maximum number of bytes of messages that wait for the consumer. */
  readonly backlogBytes: number;
  /** Fires when the consumer has disconnected. */
  readonly signal: AbortSignal;
  /** Creates the last message for a consumer that cannot keep up. */
  farewell(): Uint8Array;
  /** Called when the message of `farewell` is queued. */
  onOverflow(): void;
  readonly cut?: ContentCutFault | undefined;
  onCut?(): void;
}

/**
 * While the backlog is at most this many bytes, each message is flushed separately. A larger backlog is
 * flushed in batches of about this size.
 */
const BATCH_BYTES = 64 * 1024;

const KEPT_MESSAGES = 3;

const LINE_END = Buffer.from('\r\n');
const CARRIAGE_RETURN = 0x0d;

/**
 * The body of one stream connection: takes messages and yields gzip. Each message is flushed separately while
 * the consumer keeps up. Otherwise messages wait, up to a limit of bytes.
 */
export class LiveResponse implements AsyncIterable<Buffer> {
  readonly #options: LiveResponseOptions;
  readonly #gzip = new Gzip({ level: 4, flush: constants.Z_SYNC_FLUSH });
  #compressed: Buffer[] = [];
  #waiting: Uint8Array[] = [];
  #backlog = 0;
  #messages = 0;
  readonly #recent: Uint8Array[] = [];
  readonly #rate = new MessageRate();
  #lastPush = performance.now();
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the producer, which waits in `room`, and the consumer. */
  readonly #wakeUps = { producer: new WakeUp(), consumer: new WakeUp() };

  constructor(options: LiveResponseOptions) {
    this.#options = options;
    this.#gzip.on('data', chunk => this.#compressed.push(chunk));
    if (options.cut?.afterMessages === 0 && isBoundary(options.cut)) this.#cutHere();
  }

  get flow(): StreamFlow {
    const next = this.#messages % KEPT_MESSAGES;
    return {
      messages: this.#messages,
      perSecond: this.#rate.perSecond(),
      backlogBytes: this.#backlog,
      recent: [...this.#recent.slice(next), ...this.#recent.slice(0, next)].toReversed(),
    };
  }

  /** Whether messages that are pushed now will be sent. */
  get isOpen(): boolean {
    return !this.#hasEnded && !this.#options.signal.aborted;
  }

  /** Whether the producer should call `room` before it pushes more, because the backlog is large. */
  get isAhead(): boolean {
    return this.#backlog >= Math.min(BATCH_BYTES, this.#options.backlogBytes / 2);
  }

  /** Sends a message, given without its line end. Does nothing after the end of the stream. */
  push(message: Uint8Array): void {
    if (!this.isOpen) return;
    const { backlogBytes, cut } = this.#options;
    const bytes = withoutCarriageReturns(message);
    if (cut !== undefined && !isBoundary(cut) && this.#messages >= cut.afterMessages) {
      const position = cut.within === 'message' ? bytes.length >> 1 : withinCharacter(bytes);
      if (position !== -1) {
        this.#queue(bytes.subarray(0, position));
        this.#cutHere();
        return;
      }
      // A message without a multi-byte character cannot be cut inside one, so it is sent whole.
    }
    this.#recent[this.#messages++ % KEPT_MESSAGES] = message;
    this.#rate.add();
    if (this.#backlog + bytes.length + LINE_END.length > backlogBytes) {
      this.#overflow();
      return;
    }
    this.#queue(bytes, LINE_END);
    if (cut !== undefined && isBoundary(cut) && this.#messages === cut.afterMessages)
      this.#cutHere();
  }

  /** Ends the stream once the waiting messages are sent. */
  end(): void {
    this.#hasEnded = true;
    this.#notify();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  /** Resolves when the producer may push more messages (`isAhead` is false), or when the stream has ended. */
  async room(): Promise<void> {
    while (this.isAhead && this.isOpen) await this.#wakeUps.producer.next();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const { signal, heartbeatMs } = this.#options;
    const stopListening = onceAborted(signal, () => this.#notify());
    const heartbeat = setInterval(() => this.#beat(), Math.max(1, heartbeatMs / 10));
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#waiting.length > 0) {
          const chunk = this.#take();
          this.#notify();
          yield chunk;
        } else if (this.#hasEnded) break;
        else await this.#wakeUps.consumer.next();
      }
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#gzip.end();
      yield this.#drain();
    } finally {
      clearInterval(heartbeat);
      stopListening();
      this.#hasEnded = true;
      this.#gzip.close();
      this.#notify();
    }
  }

  #queue(...pieces: readonly Uint8Array[]): void {
    const whole = Buffer.concat(pieces);
    this.#waiting.push(whole);
    this.#backlog += whole.length;
    this.#lastPush = performance.now();
    this.#notify();
  }

  #beat(): void {
    if (performance.now() - this.#lastPush < this.#options.heartbeatMs) return;
    // Waiting messages already show that the stream is alive.
    if (this.isOpen && this.#waiting.length === 0) this.#queue(LINE_END);
  }

  #overflow(): void {
    const { farewell, onOverflow } = this.#options;
    this.#waiting = [];
    this.#backlog = 0;
    this.#queue(farewell(), LINE_END);
    this.end();
    onOverflow();
  }

  #cutHere(): void {
    this.#options.onCut?.();
    const end = this.#options.cut?.end ?? 'reset';
    if (end === 'finish') this.end();
    else this.fail(new StreamCutError(end));
  }

  /** Removes waiting messages, up to about `BATCH_BYTES`, and returns their compressed bytes. */
  #take(): Buffer {
    const keepsUp = this.#backlog <= BATCH_BYTES;
    let taken = 0;
    let count = 0;
    while (count < this.#waiting.length && taken < BATCH_BYTES)
      taken += (this.#waiting[count++] as Uint8Array).length;
    const messages = this.#waiting.splice(0, count);
    this.#backlog -= taken;
    if (keepsUp) for (const message of messages) this.#gzip.write(message as Buffer);
    else this.#gzip.write(Buffer.concat(messages, taken));
    return this.#drain();
  }

  #drain(): Buffer {
    const [first, ...rest] = this.#compressed;
    this.#compressed = [];
    if (first === undefined) return Buffer.alloc(0);
    return rest.length === 0 ? first : Buffer.concat([first, ...rest]);
  }

  #notify(): void {
    this.#wakeUps.producer.wake();
    this.#wakeUps.consumer.wake();
  }
}

function isBoundary({ within = 'boundary' }: ContentCutFault): boolean {
  return within === 'boundary';
}

/**
 * Replaces carriage returns in a message with spaces; both are white space in JSON. A message in a stream may
 * contain line feeds, but not carriage returns.
 */
function withoutCarriageReturns(message: Uint8Array): Uint8Array {
  if (!message.includes(CARRIAGE_RETURN)) return message;
  return message.map(byte => (byte === CARRIAGE_RETURN ? 0x20 : byte));
}

/** A consumer that could not keep up may take this long to read the last message, in milliseconds. */
const GRACE_MS = 1_000;

/** Refuses clients that do not accept gzip, because streams are only sent as gzip. @throws HttpProblem 406 */
export function checkGzip({ request }: RequestContext): void {
  if (!acceptsGzip(request.headers['accept-encoding']))
    throw new HttpProblem(
      406,
      'This connection requires compression. To enable compression, send an ' +
        "'Accept-Encoding: gzip' header in your request and be ready to uncompress the stream as " +
        'it is read on the client end.',
    );
}

/**
 * Yields the body of one stream connection, from the first message to the end.
 *
 * @param feed Pushes the messages. Its signal fires when the consumer has disconnected or the stream has
 * ended.
 */
export async function* streamConnection(
  { request, url, signal }: RequestContext,
  { settings, clock, faults, streams }: ServiceContext,
  label: string,
  feed: (wire: LiveResponse, signal: AbortSignal) => Promise<void>,
): AsyncGenerator<Buffer> {
  const { account, heartbeatMs, streamBacklogBytes: backlogBytes } = settings;
  const endpoint = url.pathname.startsWith('/replay/') ? 'replay' : 'compliance';
  const ended = new AbortController();
  const cut = faults.matchStream('content-cut', endpoint, url.pathname + url.search);
  const wire = new LiveResponse({
    heartbeatMs,
    backlogBytes,
    signal,
    cut,
    onCut: () => cut && faults.tookEffect(cut),
    farewell() {
      const message =
        `Force closing connection to ${account}/${label} because it reached the maximum ` +
        `allowed backup (buffer size is ${backlogBytes}).`;
      return Buffer.from(JSON.stringify(messageErrorBody(message, clock.now(), 'GET')));
    },
    onOverflow() {
      // Gives the client time to read the last message and close the connection. If the connection is still
      // open after that, resets it.
      setTimeout(() => request.socket.resetAndDestroy(), GRACE_MS).unref();
    },
  });
  const open: OpenStream = {
    endpoint,
    url,
    startedAt: clock.now(),
    get flow() {
      return wire.flow;
    },
  };
  streams.add(open);
  const feeding = feed(wire, AbortSignal.any([signal, ended.signal])).catch(error =>
    wire.fail(error),
  );
  try {
    yield* wire;
  } finally {
    streams.delete(open);
    ended.abort(new Error('The stream has ended'));
    await feeding;
  }
}
