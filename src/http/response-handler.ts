import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Channel } from '../base/channel.js';
import type { Account } from './account.js';
import { brokenConnection, stalledConnection, type Way } from './connection-errors.js';
import type { Connection } from './connections.js';
import { type HttpRequest, type ResponseHeaders, urlForMessages } from './http-message.js';
import type { Permit } from './rate-limits.js';

/** When this many bytes are unread, the connection is paused. */
const READ_AHEAD = 256 * 1024;

/**
 * Handles undici's events for one request. Provides the head of the response as a promise and its body as a
 * stream.
 */
export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly url: string;
  readonly begun: Promise<{ status: number; headers: ResponseHeaders }>;
  receivedBytes = 0;
  /**
   * The error that ended the response early. `undefined` while the response continues and if it is complete.
   */
  failure: unknown;
  readonly #account: Account;
  readonly #connection: Connection;
  readonly #signal: AbortSignal | undefined;
  readonly #permit: Permit | undefined;
  #begin: (head: { status: number; headers: ResponseHeaders }) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #hasBegun = false;
  readonly #body = new Channel<Buffer>(READ_AHEAD, chunk => chunk.length);
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
    // If `begun` rejects before the sender awaits it, the process must not end with an unhandled rejection.
    this.begun.catch(() => {});
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#watchFor(account.timeouts.connectMs + account.timeouts.responseMs);
  }

  /** Called by undici when the connection is open, just before it writes the request. */
  onRequestStart(_controller: Dispatcher.DispatchController): void {
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
    this.#body.push(chunk);
    if (this.#body.isFull) void this.#pause(controller);
    else this.#watch?.refresh();
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

  /**
   * Yields the bytes that have arrived. Can be read only once. If the reader stops early, it must call
   * `close`.
   */
  async *blocks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    while (await this.#body.ready()) yield this.#body.takeAll();
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
      // If the event loop was blocked, this timer may fire before Node reads bytes that have already arrived.
      // `setImmediate` lets Node read them before the check.
      setImmediate(() => {
        if (this.receivedBytes === receivedBytes && this.#hasBegun === hadBegun)
          this.#fail(stalledConnection(this.#way, ms, hadBegun), false);
      });
    }, ms);
  }

  #fail(failure: unknown, dropsBytes: boolean): void {
    if (!this.#body.isOpen) return;
    this.failure = failure;
    this.#body.fail(failure, { dropsItems: dropsBytes });
    this.#stop();
    this.#account.connections.destroy(this.#connection);
    this.#refuse(failure);
  }

  /**
   * Pauses the connection until the reader has taken the bytes. The timeout for silence does not run during
   * the pause, because nothing can arrive.
   */
  async #pause(controller: Dispatcher.DispatchController): Promise<void> {
    controller.pause();
    clearTimeout(this.#watch);
    await this.#body.room();
    if (!controller.paused || !this.#body.isOpen) return;
    this.#watchFor(this.#account.timeouts.silenceMs);
    controller.resume();
  }

  #stop(): void {
    clearTimeout(this.#watch);
    this.#signal?.removeEventListener('abort', this.#onAbort);
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
