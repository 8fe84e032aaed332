import type { IncomingHttpHeaders } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import type { Account } from './account.js';
import { brokenConnection, stalledConnection } from './connection-errors.js';
import { urlForMessages } from './secret.js';

/** Bytes that may wait for their reader before the connection is paused. */
const READ_AHEAD = 256 * 1024;

/** What undici tells about one request, turned into one promise and one stream of bytes. */
export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly url: string;
  readonly client: Client;
  readonly begun: Promise<{ status: number; headers: IncomingHttpHeaders }>;
  receivedBytes = 0;
  readonly #account: Account;
  readonly #origin: string;
  readonly #signal: AbortSignal | undefined;
  #begin: (head: { status: number; headers: IncomingHttpHeaders }) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #answering = false;
  #chunks: Buffer[] = [];
  #waitingBytes = 0;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #failure: unknown;
  /** Whether the failure comes before bytes that have already arrived. */
  #dropsBytes = false;
  #wake: () => void = () => {};
  #watch: NodeJS.Timeout | undefined;

  constructor(account: Account, client: Client, url: URL, signal: AbortSignal | undefined) {
    this.#account = account;
    this.#origin = url.origin;
    this.url = urlForMessages(url);
    this.client = client;
    this.#signal = signal;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    // A request may fail while its sender is still on the way to waiting for it.
    this.begun.catch(() => {});
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#watchFor(account.timeouts.connectMs + account.timeouts.responseMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#answering = true;
    this.#watchFor(this.#account.timeouts.silenceMs);
    this.#begin({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state !== 'open') return;
    this.receivedBytes += chunk.length;
    this.#waitingBytes += chunk.length;
    this.#chunks.push(chunk);
    // A paused connection tells nothing of the other side, so its silence is not counted.
    if (this.#waitingBytes >= READ_AHEAD) {
      controller.pause();
      clearTimeout(this.#watch);
    } else this.#watch?.refresh();
    this.#wake();
  }

  onResponseEnd(): void {
    if (this.#state !== 'open') return;
    this.#settle('ended');
    this.#account.connections.give(this.#origin, this.client);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(brokenConnection(error, this.url, this.#answering), false);
  }

  async *body(): AsyncGenerator<Buffer, void, undefined> {
    for await (const blocks of this.blocks()) yield* blocks;
  }

  /** Can be read once. */
  async *blocks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    while (true) {
      if (this.#state === 'failed' && (this.#dropsBytes || this.#chunks.length === 0))
        throw this.#failure;
      const chunks = this.#chunks;
      if (chunks.length > 0) {
        this.#chunks = [];
        this.#waitingBytes = 0;
        if (this.#controller?.paused === true && this.#state === 'open') {
          this.#watchFor(this.#account.timeouts.silenceMs);
          this.#controller.resume();
        }
        yield chunks;
      } else if (this.#state === 'ended') return;
      else
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
    }
  }

  close(): void {
    if (this.#state === 'open') this.#fail(new Error('The answer was closed'), true);
  }

  readonly #onAbort = () => this.#fail(this.#signal?.reason, true);

  #watchFor(ms: number): void {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(
      () => this.#fail(stalledConnection(this.url, ms, this.#answering), false),
      ms,
    );
  }

  #fail(failure: unknown, dropsBytes: boolean): void {
    if (this.#state !== 'open') return;
    this.#failure = failure;
    this.#dropsBytes = dropsBytes;
    this.#settle('failed');
    this.#account.connections.end(this.client);
    this.#refuse(failure);
  }

  #settle(state: 'ended' | 'failed'): void {
    this.#state = state;
    clearTimeout(this.#watch);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#wake();
  }
}
