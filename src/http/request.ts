import type { IncomingHttpHeaders } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import { DataError } from '../errors.js';
import { unzip } from '../gzip/decode-body.js';
import type { Account } from './account.js';
import { brokenConnection, stalledConnection } from './connection-errors.js';
import { refusal } from './problem.js';
import type { Secret } from './secret.js';

/** One HTTP request. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * For a file at an address that is its own permission: no credentials, whatever the origin, and
   * the body as it is on the wire, since what is stored there may be called an encoding.
   */
  readonly file?: boolean | undefined;
  /** Makes the `Authorization` of a try, anew for each, in place of Basic credentials. */
  readonly authorize?: (() => string) | undefined;
  /** What no error may show, besides the account's own secrets. */
  readonly secrets?: readonly Secret[] | undefined;
  /** Statuses, besides successes, whose answer is returned and not thrown. */
  readonly statuses?: readonly number[] | undefined;
}

/** A successful answer. Its body must be read to its end, or the answer closed. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The address without its query, for messages. */
  readonly url: string;
  /** Decoded. Cut at any byte. Throws `ConnectionError` when it breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /**
   * The body as it is on the wire, all that has come at a time, instead of `body`. Throws
   * `ConnectionError` when it breaks off.
   */
  readonly wire: AsyncIterable<readonly Buffer[]>;
  /** Bytes of the body that have come, as they were on the wire. */
  readonly receivedBytes: number;
  /** Lets go of the connection. Nothing happens after the end of the body. */
  close(): void;
}

/** Bytes that may wait for their reader before the connection is paused. */
const READ_AHEAD = 256 * 1024;

/**
 * Sends one request and resolves once its answer begins. Credentials go to configured origins only;
 * redirects are not followed; anything but a success is an `HttpError`.
 *
 * @throws HttpError, ConnectionError, or the signal's reason.
 */
export async function exchange(account: Account, request: Exchange): Promise<Answer> {
  const { method, url, body = null, signal, file = false, authorize } = request;
  signal?.throwIfAborted();
  const authorization = file ? undefined : (authorize ?? (() => account.basicFor(url)))();
  const client = await account.connections.take(url.origin);
  if (signal?.aborted) {
    account.connections.give(url.origin, client);
    throw signal.reason;
  }
  const wire = new Wire(account, client, url, signal);
  const sentAt = account.timing.now();
  wire.client.dispatch(
    {
      path: url.pathname + url.search,
      method,
      headers: {
        accept: file ? '*/*' : 'application/json',
        'accept-encoding': file ? 'identity' : 'gzip',
        ...(authorization === undefined ? {} : { authorization }),
        ...request.headers,
      },
      body,
    },
    wire,
  );
  const { status, headers } = await wire.begun;
  // Files lie on hosts of others.
  if (!file) account.clock.hear(headers.date, sentAt);
  const answer: Answer = {
    status,
    headers,
    url: wire.url,
    body: file && isSuccess(status) ? wire.body() : decoded(wire, headers),
    wire: wire.blocks(),
    get receivedBytes() {
      return wire.receivedBytes;
    },
    close: () => wire.close(),
  };
  if (isSuccess(status) || request.statuses?.includes(status)) return answer;
  try {
    throw await refusal(account, request, answer);
  } finally {
    answer.close();
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** An address as it may be shown: signatures travel in queries. */
export function shownAddress(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}

function decoded(wire: Wire, headers: IncomingHttpHeaders): AsyncIterable<Buffer> {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  if (encoding === '' || encoding === 'identity') return wire.body();
  if (encoding === 'gzip' || encoding === 'x-gzip') return unzip(wire.body(), wire.url);
  wire.close();
  throw new DataError(`The answer is encoded as ${encoding}, and only gzip was asked for`, {
    place: { origin: wire.url },
  });
}

/** What undici tells about one request, turned into one promise and one stream of bytes. */
class Wire implements Dispatcher.DispatchHandler {
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
    this.url = shownAddress(url);
    this.client = client;
    this.#signal = signal;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    // A request may fail while its sender is still on the way to waiting for it.
    this.begun.catch(() => {});
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#watchFor(account.timeouts.connect + account.timeouts.answer);
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
    this.#watchFor(this.#account.timeouts.silence);
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
          this.#watchFor(this.#account.timeouts.silence);
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
