import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { WakeUp } from '../base/wait.js';
import type { Account } from './account.js';
import { brokenConnection, stalledConnection, type Way } from './connection-errors.js';
import type { Connection } from './connections.js';
import { type HttpRequest, type ResponseHeaders, urlForMessages } from './http-message.js';
import type { Permit } from './rate-limiter.js';

/** Bytes that may wait for their reader before the connection is paused. */
const READ_AHEAD = 256 * 1024;

/** Turns undici's events of one request into a promise of the response's head and a stream of its bytes. */
export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly url: string;
  readonly begun: Promise<{ status: number; headers: ResponseHeaders }>;
  receivedBytes = 0;
  readonly #account: Account;
  readonly #connection: Connection;
  readonly #signal: AbortSignal | undefined;
  readonly #permit: Permit | undefined;
  #begin: (head: { status: number; headers: ResponseHeaders }) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #hasBegun = false;
  readonly #body = new ArrivedBody(() => this.#resume());
  #watch: NodeJS.Timeout | undefined;

  constructor(account: Account, connection: Connection, { url, signal, permit }: HttpRequest) {
    this.#account = account;
    this.#connection = connection;
    this.url = urlForMessages(url);
    this.#signal = signal;
    this.#permit = permit;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    // It may fail before the sender waits for it.
    this.begun.catch(() => {});
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#watchFor(account.timeouts.connectMs + account.timeouts.responseMs);
  }

  /** The error that ended the response early; `undefined` for one that goes on or has ended. */
  get failure(): unknown {
    return this.#body.failure;
  }

  /** Undici calls it when the connection is open, just before it writes the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#permit?.sent();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#hasBegun = true;
    this.#permit?.responded();
    this.#watchFor(this.#account.timeouts.silenceMs);
    this.#begin({ status, headers: joined(headers) });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body.isOpen) return;
    this.receivedBytes += chunk.length;
    this.#body.add(chunk);
    // A paused connection receives nothing, so its silence is not counted.
    if (this.#body.waitingBytes >= READ_AHEAD) {
      controller.pause();
      clearTimeout(this.#watch);
    } else this.#watch?.refresh();
  }

  onResponseEnd(): void {
    if (!this.#body.isOpen) return;
    this.#body.end();
    this.#stop();
    this.#account.connections.release(this.#connection);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(brokenConnection(error, this.#way, this.#hasBegun), false);
  }

  async *body(): AsyncGenerator<Buffer, void, undefined> {
    for await (const blocks of this.blocks()) yield* blocks;
  }

  /** Can be read once. */
  blocks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    return this.#body.blocks();
  }

  close(): void {
    if (this.#body.isOpen) this.#fail(new Error('The response was closed'), true);
  }

  get #way(): Way {
    return { url: this.url, proxy: this.#connection.proxy };
  }

  readonly #onAbort = () => this.#fail(this.#signal?.reason, true);

  #watchFor(ms: number): void {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => {
      const { receivedBytes } = this;
      const hadBegun = this.#hasBegun;
      // After the event loop was blocked, timers come before the bytes that have arrived meanwhile.
      setImmediate(() => {
        if (this.receivedBytes === receivedBytes && this.#hasBegun === hadBegun)
          this.#fail(stalledConnection(this.#way, ms, hadBegun), false);
      });
    }, ms);
  }

  #fail(failure: unknown, dropsBytes: boolean): void {
    if (!this.#body.isOpen) return;
    this.#body.fail(failure, dropsBytes);
    this.#stop();
    this.#account.connections.destroy(this.#connection);
    this.#refuse(failure);
  }

  /** Goes on with a connection that was paused, once its reader has taken all bytes. */
  #resume(): void {
    if (this.#controller?.paused !== true || !this.#body.isOpen) return;
    this.#watchFor(this.#account.timeouts.silenceMs);
    this.#controller.resume();
  }

  #stop(): void {
    clearTimeout(this.#watch);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** The bytes of a response that have arrived, from undici's events to the reader. */
class ArrivedBody {
  failure: unknown;
  waitingBytes = 0;
  readonly #onEmpty: () => void;
  #chunks: Buffer[] = [];
  #state: 'open' | 'ended' | 'failed' = 'open';
  /** Whether a failure drops bytes that have already arrived. */
  #dropsBytes = false;
  readonly #wakeUp = new WakeUp();

  /** @param onEmpty Called each time that the reader has taken all bytes. */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  add(chunk: Buffer): void {
    this.waitingBytes += chunk.length;
    this.#chunks.push(chunk);
    this.#wakeUp.wake();
  }

  end(): void {
    this.#state = 'ended';
    this.#wakeUp.wake();
  }

  fail(failure: unknown, dropsBytes: boolean): void {
    this.failure = failure;
    this.#dropsBytes = dropsBytes;
    this.#state = 'failed';
    this.#wakeUp.wake();
  }

  /** Can be read once. */
  async *blocks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    while (true) {
      if (this.#state === 'failed' && (this.#dropsBytes || this.#chunks.length === 0))
        throw this.failure;
      const chunks = this.#chunks;
      if (chunks.length > 0) {
        this.#chunks = [];
        this.waitingBytes = 0;
        this.#onEmpty();
        yield chunks;
      } else if (this.#state === 'ended') return;
      else await this.#wakeUp.next();
    }
  }
}

function joined(headers: IncomingHttpHeaders): ResponseHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}
