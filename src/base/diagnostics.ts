import { channel } from 'node:diagnostics_channel';

/**
 * The message about one request. The same object is published on `millrace:request:start`, then on `:end` or
 * `:error`.
 */
export interface RequestMessage {
  readonly method: string;
  /** The URL without its query, which may contain a rule or a signature. */
  readonly url: string;
  /** The status of the response. Absent on `:error` if there was no response. */
  status?: number | undefined;
  /** The number of body bytes received. */
  receivedBytes?: number | undefined;
  /** Milliseconds from the start of the request to the end of its body, or to the error. */
  durationMs?: number | undefined;
  /** The failure; set in `:error` messages only. */
  error?: unknown;
}

/** Published on `millrace:retry` before a request or a connection waits to retry. */
export interface RetryMessage {
  readonly error: Error;
  /** The number of attempts so far, at least 1. */
  readonly attempts: number;
  readonly waitMs: number;
}

/** Published on `millrace:wait` when the client starts to wait because of a limit or before a retry. */
export interface WaitMessage {
  readonly reason: string;
  /** The account option that sets the limit, such as `limits.search`. Absent for other waits. */
  readonly setting?: string | undefined;
  readonly waitMs: number;
  /** The end of the wait, by the service's clock. */
  readonly until: Date;
}

/** Published on `millrace:batch` for each batch that the source of a pipeline delivers. */
export interface BatchMessage {
  readonly items: number;
  /** True if a later run can resume after these items. */
  readonly hasCursor: boolean;
}

/** Published on `millrace:commit` when the output and the cursor to resume from are durable. */
export interface CommitMessage {
  /**
   * The path of the checkpoint, or the option `name` for `committed` and `toJetStream`.
   * `toJetStream` appends the shard if there is one, such as `-2-of-8`.
   */
  readonly checkpoint: string;
  /** The number of files that the commit changed. Set only if the run writes files. */
  readonly files?: number | undefined;
  /** The number of rows that the commit wrote. Set only by `committed`. */
  readonly rows?: number | undefined;
  readonly durationMs: number;
}

/** Published on `millrace:file` once a file of `files`, `csv` or `parquet` has its final name and is durable. */
export interface FileMessage {
  readonly path: string;
  readonly posts: number;
  readonly bytes: number;
}

const CHANNELS = {
  requestStart: channel('millrace:request:start'),
  requestEnd: channel('millrace:request:end'),
  requestError: channel('millrace:request:error'),
  retry: channel('millrace:retry'),
  wait: channel('millrace:wait'),
  batch: channel('millrace:batch'),
  commit: channel('millrace:commit'),
  file: channel('millrace:file'),
  runStart: channel('millrace:run:start'),
  runEnd: channel('millrace:run:end'),
  runError: channel('millrace:run:error'),
};

interface Messages {
  readonly retry: RetryMessage;
  readonly wait: WaitMessage;
  readonly batch: BatchMessage;
  readonly commit: CommitMessage;
  readonly file: FileMessage;
  readonly runStart: object;
  readonly runEnd: object;
  readonly runError: object;
}

export function isWatched(name: keyof Messages): boolean {
  return CHANNELS[name].hasSubscribers;
}

/** Publishes a message. Calls the function that creates the message only if the channel has a subscriber. */
export function publish<Name extends keyof Messages>(
  name: Name,
  messageOf: () => Messages[Name],
): void {
  if (CHANNELS[name].hasSubscribers) CHANNELS[name].publish(messageOf());
}

export class WatchedRequest {
  readonly #message: RequestMessage;
  readonly #started = performance.now();
  #isOver = false;

  private constructor(method: string, url: URL) {
    this.#message = { method, url: url.origin + url.pathname };
    CHANNELS.requestStart.publish(this.#message);
  }

  static start(method: string, url: URL): WatchedRequest | undefined {
    const { requestStart, requestEnd, requestError } = CHANNELS;
    const isHeard = [requestStart, requestEnd, requestError].some(one => one.hasSubscribers);
    return isHeard ? new WatchedRequest(method, url) : undefined;
  }

  end(status: number, receivedBytes: number): void {
    this.#finish(CHANNELS.requestEnd, { status, receivedBytes });
  }

  fail(error: unknown, received: Pick<RequestMessage, 'status' | 'receivedBytes'> = {}): void {
    const { status } = Object(error) as { readonly status?: number };
    this.#finish(CHANNELS.requestError, { status, ...received, error });
  }

  #finish(to: { publish(message: object): void }, result: Partial<RequestMessage>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const durationMs = performance.now() - this.#started;
    to.publish(Object.assign(this.#message, result, { durationMs }));
  }
}
