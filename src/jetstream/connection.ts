import { setMaxListeners } from 'node:events';
import type {
  JetStreamClient,
  JetStreamManager,
  PubAck,
  StreamInfo,
  StreamInfoRequestOptions,
} from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { NatsConnection, PermissionViolationError, Status } from '@nats-io/transport-node';
import { abortable, LinkedAbort, onceAborted } from '../base/abortable.js';
import { optionError } from '../base/check.js';
import { withoutUndefined } from '../base/record.js';
import { realTime } from '../http/timing.js';
import { Acknowledgements } from './acknowledgements.js';
import { type Access, isConnection } from './connection-options.js';
import { clientFailure, isMissing, JetStreamError, StaleAnswer } from './jet-stream-errors.js';
import type { Headers } from './message.js';
import { loadPackages, type Packages } from './packages.js';
import {
  type ConnectionRun,
  type RepeatOptions,
  repeat,
  type Servers,
  SHOWN_AFTER_MS,
  showWait,
  typedError,
} from './request-tries.js';

/**
 * The time limit for one request, in milliseconds. It is needed because a server that is gone never answers.
 */
const REQUEST_MS = 5_000;
/** How often a reader looks for a stream that does not exist yet, in milliseconds. */
const UNMADE_WAIT_MS = 1_000;

const REOPEN =
  'Open it with `maxReconnectAttempts: -1`, so that it reconnects until `maxOutageMs` is over';

/** A connection that repeats requests while servers restart or elect a leader. */
export class JetStreamConnection implements Servers {
  readonly packages: Packages;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly #nats: NatsConnection;
  readonly #access: Access;
  readonly run: ConnectionRun;
  /**
   * The status events of the connection. `close` ends the loop that reads them, because a connection of the
   * caller stays open after the run.
   */
  readonly #statuses: AsyncIterable<Status> & { stop?(): void };
  /** For each running request, a function that rejects it. */
  readonly #running = new Set<(reason: unknown) => void>();
  readonly #unlink: () => void;
  /**
   * The pending requests that check whether a stream still exists, by the name of the stream. Messages that
   * fail at the same time share one request.
   */
  readonly #checks = new Map<string, Promise<StreamInfo>>();
  readonly #acknowledgements: Acknowledgements;
  /** When this connection was last moved to another server, as a time of `performance.now()`. */
  #changedAt = 0;
  /** The errors for requests that the login does not permit, by the subject of the request. */
  readonly #denials = new Map<string, Error>();
  #closedBy: JetStreamError | undefined;

  /**
   * Uses the caller's connection, or opens one with the caller's function.
   *
   * @throws OptionError if the function does not return a connection.
   * @throws JetStreamError
   */
  static async open(access: Access, run: ConnectionRun): Promise<JetStreamConnection> {
    // Each unacknowledged message may add a listener to the signal. Without this call, Node would warn of a
    // memory leak.
    setMaxListeners(0, run.signal);
    const packages = await loadPackages(run.call);
    const { connection, domain, apiPrefix } = access;
    const nats = typeof connection === 'function' ? await opened(access, run) : connection;
    if (nats.isClosed())
      throw connectionError(access, run, ['is closed', REOPEN], await nats.closed());
    const options = { timeout: REQUEST_MS, ...withoutUndefined({ domain, apiPrefix }) };
    const client = packages.jetstream.jetstream(nats, options);
    // `false` skips the client's check of the server, because a failed check would not be repeated.
    const manager = await client.jetstreamManager(false);
    return new JetStreamConnection(packages, nats, client, manager, access, run);
  }

  private constructor(
    packages: Packages,
    nats: NatsConnection,
    client: JetStreamClient,
    manager: JetStreamManager,
    access: Access,
    run: ConnectionRun,
  ) {
    this.packages = packages;
    this.#nats = nats;
    this.client = client;
    this.manager = manager;
    this.#access = access;
    this.run = run;
    this.#unlink = onceAborted(run.signal, () => this.#rejectRunning());
    this.#acknowledgements = new Acknowledgements(nats, packages);
    this.#statuses = nats.status();
    void this.#watch();
  }

  async #watch(): Promise<void> {
    for await (const status of this.#statuses) {
      if (status.type === 'error' && status.error.name === 'PermissionViolationError') {
        const { subject } = status.error as PermissionViolationError;
        this.#denials.set(subject, status.error);
        this.#acknowledgements.reject(status.error, subject);
      }
      // Rejects the messages that were sent before the connection was lost, so that they are sent again at
      // once.
      if (status.type === 'reconnect')
        this.#acknowledgements.reject(new StaleAnswer('the connection was lost'));
      if (status.type === 'close') {
        const error = await this.#nats.closed();
        this.#closedBy = connectionError(this.#access, this.run, ['was closed', REOPEN], error);
        this.#acknowledgements.reject(this.#closedBy);
      }
    }
  }

  /**
   * Returns the permission error that a server has reported for requests with this subject, if any. The
   * client reports it only as a status event, and does not reject the request.
   */
  denial(subject: string): Error | undefined {
    return [...this.#denials].find(([denied]) => denied.includes(subject))?.[1];
  }

  get signal(): AbortSignal {
    return this.run.signal;
  }

  get maxOutageMs(): number {
    return this.#access.maxOutageMs;
  }

  get addresses(): string {
    return this.#nats
      .getServers()
      .map(({ listen }) => listen)
      .join(', ');
  }

  get isCluster(): boolean {
    return this.#nats.info?.cluster !== undefined;
  }

  causeOf(error: unknown): unknown {
    return this.#closedBy ?? error;
  }

  /** The maximum size of a message that the servers accept, in bytes, including its headers. */
  get maxPayload(): number {
    return this.#nats.info?.max_payload ?? 1 << 20;
  }

  /**
   * Returns the key-value bucket that stores the state of publishers. Creates the bucket if it is missing.
   *
   * @throws JetStreamError if the bucket has fewer replicas than the stream.
   */
  async bucket(name: string, replicas: number): Promise<KV> {
    const kvm = new this.packages.kv.Kvm(this.client);
    const what = `open the bucket ${name}`;
    const storage = this.packages.jetstream.StorageType.File;
    // The leader must answer all reads, because another replica may not have the last write yet.
    const settings = { history: 1, replicas, storage, allow_direct: false };
    const kv = await this.repeat(what, () => kvm.create(name, settings));
    const found = await this.repeat(what, () => kv.status());
    if (found.replicas >= replicas) return kv;
    throw new JetStreamError(
      `${this.run.call}: the bucket ${name} has ${found.replicas} replica, and the stream ${replicas}: a cursor could be lost although no post is. Pass another \`bucket\`, or give it more with \`nats stream edit KV_${name}\``,
      { failure: 'stream' },
    );
  }

  /** Sends a message without retries. Resolves when the servers have stored the message. */
  publish(subject: string, payload: Uint8Array, headers: Headers): Promise<PubAck> {
    return this.#acknowledgements.publish(subject, payload, headers);
  }

  repeat<T>(what: string, request: () => Promise<T>, options?: RepeatOptions): Promise<T> {
    return repeat(this, what, () => this.#untilAborted(request()), options);
  }

  /**
   * Settles like a request, but rejects when the run is aborted. All requests share one listener, because the
   * time to add a listener grows with the number of listeners.
   */
  #untilAborted<T>(request: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#running.add(reject);
      request.finally(() => this.#running.delete(reject)).then(resolve, reject);
    });
  }

  #rejectRunning(): void {
    for (const reject of this.#running) reject(this.run.signal.reason);
  }

  /**
   * Returns the state of a stream, as its leader reports it. If there is no leader, the other servers answer
   * with the last state that they know, which may be outdated. Such an answer is ignored, and the request is
   * repeated.
   *
   * @param details What to include: the deleted sequences, or the subjects that match a subject with
   *   wildcards.
   * @param isAnswer Whether to reject with an error at once, because the caller handles it. By default, the
   *   request is repeated after an error.
   */
  streamInfo(
    stream: string,
    details: Partial<StreamInfoRequestOptions> = {},
    isAnswer?: (error: unknown) => boolean,
  ): Promise<StreamInfo> {
    const request = async () => {
      const info = await this.manager.streams.info(stream, details);
      // A server without a cluster is the only server, so its answer is up to date.
      if (info.cluster !== undefined && !info.cluster.leader)
        throw new StaleAnswer(`the stream ${stream} has no leader`);
      return info;
    };
    return this.repeat(`read the stream ${stream}`, request, { isAnswer });
  }

  /** Returns the state of a stream. If the stream does not exist yet, waits for it, without a time limit. */
  async streamOnceMade(stream: string): Promise<StreamInfo> {
    for (let retry = 1; ; retry++) {
      try {
        return await this.streamInfo(stream, {}, isMissing);
      } catch (cause) {
        if (!isMissing(cause)) throw cause;
        const error = new JetStreamError(`The stream ${stream} does not exist yet`, {
          failure: 'stream',
          cause,
        });
        const end = showWait(this.run, error, UNMADE_WAIT_MS, retry);
        await realTime.sleep(UNMADE_WAIT_MS, this.signal).finally(end);
      }
    }
  }

  /**
   * Always rejects. Call this if a message was not stored. If the stream was deleted, rejects with an error
   * about the deletion, otherwise with the given error. The client cannot tell that a stream was deleted: a
   * message to it gets no answer, as if the server had no JetStream.
   *
   * @param deleted What was deleted and what to do about it, for the error.
   */
  async unstored(error: unknown, stream: string, deleted: string): Promise<never> {
    if (!(error instanceof Error) || error.name !== 'JetStreamNotEnabled') throw error;
    // If a stream is deleted, all unacknowledged messages fail at once. One request checks for all of them.
    let check = this.#checks.get(stream);
    if (check === undefined) {
      check = this.streamInfo(stream).finally(() => this.#checks.delete(stream));
      this.#checks.set(stream, check);
    }
    try {
      await check;
    } catch (missing) {
      if (!(missing instanceof JetStreamError) || missing.failure !== 'stream') throw missing;
      throw new JetStreamError(`${this.run.call}: ${deleted}`, {
        failure: 'stream',
        cause: missing.cause,
        cursor: this.run.cursor(),
      });
    }
    throw error;
  }

  error(what: string, error: unknown): unknown {
    return typedError(this, what, error);
  }

  changeServer(since: number, afterMs: number): void {
    // The caller's own connection stays on its server, because a change would interrupt its other users.
    if (!this.#isOurs) return;
    const now = performance.now();
    if (now - Math.max(since, this.#changedAt) < afterMs) return;
    this.#changedAt = now;
    this.#nats.reconnect().catch(() => {});
  }

  get #isOurs(): boolean {
    return typeof this.#access.connection === 'function';
  }

  /**
   * Closes the connection if the run has opened it, which ends all requests on it. A connection that the
   * caller has opened stays open.
   */
  async close(): Promise<void> {
    this.#statuses.stop?.();
    this.#unlink();
    if (this.run.signal.aborted) this.#rejectRunning();
    this.#acknowledgements.close();
    if (this.#isOurs) await this.#nats.close().catch(() => {});
  }
}

async function opened(access: Access, run: ConnectionRun): Promise<NatsConnection> {
  const { connection, maxOutageMs } = access;
  const limit = new LinkedAbort(run.signal);
  const waiting = connectionError(access, run, [
    'is not open yet',
    'Check its servers and TLS options',
  ]);
  limit.abortAfter(maxOutageMs, () => waiting);
  let endWait = () => {};
  const showing = setTimeout(() => {
    endWait = showWait(run, waiting, maxOutageMs - SHOWN_AFTER_MS, 1);
  }, SHOWN_AFTER_MS);
  const opening = (async () => (connection as () => NatsConnection | Promise<NatsConnection>)())();
  try {
    const nats: unknown = await abortable(opening, limit.signal);
    if (isConnection(nats)) return nats;
    throw optionError(run.call, 'connection', 'must return a connection of the NATS client');
  } catch (error) {
    // The client may still connect after the timeout. That late connection is closed.
    opening.then(late => late.close()).catch(() => {});
    run.signal.throwIfAborted();
    const isOfClient = clientFailure(error).failure !== undefined;
    throw isOfClient
      ? connectionError(
          access,
          run,
          [
            'could not be opened',
            'Start its servers, or open it with `waitOnFirstConnect: true` to wait for them',
          ],
          error,
        )
      : error;
  } finally {
    clearTimeout(showing);
    endWait();
    limit.unlink();
  }
}

function connectionError(
  { connection }: Access,
  { call, cursor }: ConnectionRun,
  [problem, advice]: readonly [problem: string, advice: string],
  cause?: unknown,
): JetStreamError {
  const { failure: found, text } = clientFailure(cause);
  const failure = found === 'refused' ? 'refused' : 'outage';
  const reason = cause instanceof Error ? ` (${text})` : '';
  return new JetStreamError(
    `${call}: its \`connection\` ${problem}${reason}. ${failure === 'refused' ? 'Check its TLS options and its login' : advice}. Then run the same again: it continues from the last cursor`,
    {
      failure,
      cause,
      // If a function opens the connection, the error is retryable, because the next call opens a new
      // connection.
      retryable: failure === 'outage' && typeof connection === 'function',
      cursor: cursor(),
    },
  );
}
