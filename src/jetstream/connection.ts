import { setMaxListeners } from 'node:events';
import type { JetStreamClient, JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { abortable } from '../abortable.js';
import { ConnectionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { realTime } from '../http/timing.js';
import { connectOptions, REQUEST_MS } from './connect-options.js';
import { failureOf, isMissing, isUnanswered, StaleAnswer } from './failure.js';
import { JetStreamError } from './jet-stream-error.js';
import { loadPackages, type Packages } from './packages.js';
import { refusedLogin } from './refused-login.js';
import type { Access } from './servers.js';

const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
/** How long a request may fail until progress shows it: a shorter wait would only flicker. */
const SHOWN_AFTER_MS = 1_000;
/** How long one server may fail until another is tried; longer than an election. */
const OTHER_SERVER_MS = 10_000;
/** How long servers of a cluster may say that a stream does not exist: one that has just started may not know it yet. */
const MISSING_MS = 10_000;
/** How long one server may say so until another is asked: it may be cut off from those that know the stream. */
const MISSING_AT_ONE_MS = 2_000;
const MISSING_WAIT_MS = 200;

/** What a connection is for. */
export interface ConnectionRun {
  /** The call, for messages. */
  readonly call: string;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
  /** The cursor of an error. */
  cursor(): Cursor | undefined;
}

/** The tries of a request that its caller repeats. */
export interface RequestTries {
  /** Waits before the next try; throws the typed error where there is to be none. */
  failed(error: unknown): Promise<void>;
  /** The request has succeeded, or is given up. */
  end(): void;
}

interface StreamInfoOptions {
  /** Whether to list the sequences that were deleted. */
  readonly deleted?: boolean | undefined;
  /** Lists the subjects that this one, with wildcards, matches. */
  readonly subjects?: string | undefined;
  readonly isAnswer?: ((error: unknown) => boolean) | undefined;
}

/** A connection that repeats requests while servers restart or elect a leader. */
export class JetStreamConnection {
  readonly packages: Packages;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly #nats: NatsConnection;
  readonly #access: Access;
  readonly #run: ConnectionRun;
  /** Streams that are looked for, by name. */
  readonly #checks = new Map<string, Promise<StreamInfo>>();
  /** When another server was tried last. */
  #changedAt = 0;
  /** Why the connection has ended for good, such as a login that the servers no longer accept. */
  #endedBy: Error | undefined;

  /**
   * Connects. Servers that are out of reach are tried again, see `maxOutageMs`.
   *
   * @throws JetStreamError
   */
  static async open(access: Access, run: ConnectionRun): Promise<JetStreamConnection> {
    // Each message that is on its way may wait on it.
    setMaxListeners(0, run.signal);
    const packages = await loadPackages(run.call);
    const options = await connectOptions(access, packages, run.call);
    const nats = await repeat(access, run, 'connect', async () => {
      const connecting = packages.core.connect(options);
      try {
        return await abortable(connecting, run.signal);
      } catch (error) {
        connecting.then(late => late.close()).catch(() => {});
        throw error;
      }
    });
    // The client forgets servers that were out of reach before it was connected.
    const known = nats.getServers().map(({ listen }) => listen);
    nats.setServers([...new Set([...known, ...access.addresses])]);
    // Asks the servers nothing, unlike `jetstreamManager` with its check.
    const manager = await packages.jetstream.jetstreamManager(nats, {
      checkAPI: false,
      timeout: REQUEST_MS,
    });
    return new JetStreamConnection(packages, nats, manager, access, run);
  }

  private constructor(
    packages: Packages,
    nats: NatsConnection,
    manager: JetStreamManager,
    access: Access,
    run: ConnectionRun,
  ) {
    this.packages = packages;
    this.#nats = nats;
    this.manager = manager;
    this.client = packages.jetstream.jetstream(nats, { timeout: REQUEST_MS });
    this.#access = access;
    this.#run = run;
    const endedBy = (error: unknown) => {
      if (!(error instanceof Error)) return;
      this.#endedBy ??= error;
      void this.close();
    };
    refusedLogin(nats).then(endedBy);
    nats.closed().then(endedBy);
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get maxOutageMs(): number {
    return this.#access.maxOutageMs;
  }

  /** The maximum size of a message, headers included, that the servers accept. */
  get maxPayload(): number {
    return this.#nats.info?.max_payload ?? 1 << 20;
  }

  /**
   * The bucket of publishers; made where there is none.
   *
   * @throws JetStreamError where it would survive less than the stream does.
   */
  async bucket(name: string, replicas: number): Promise<KV> {
    const kvm = new this.packages.kv.Kvm(this.#nats);
    const what = `open the bucket ${name}`;
    const storage = this.packages.jetstream.StorageType.File;
    // The leader answers all reads: another replica may not have the last write yet.
    const settings = { history: 1, replicas, storage, allow_direct: false };
    const kv = await this.repeat(what, () => kvm.create(name, settings));
    const found = await this.repeat(what, () => kv.status());
    if (found.replicas >= replicas) return kv;
    throw new JetStreamError(
      `${this.#run.call}: the bucket ${name} has ${found.replicas} replica, and the stream ${replicas}: a cursor could be lost where no post is. Pass another \`bucket\`, or give it more with \`nats stream edit KV_${name}\``,
      { failure: 'stream' },
    );
  }

  /**
   * Makes a request until it succeeds, for up to `maxOutageMs`.
   *
   * @param what What it does, for messages: `publish to posts`.
   * @param isAnswer Whether an error is an answer that the caller handles.
   */
  repeat<T>(
    what: string,
    request: () => Promise<T>,
    isAnswer?: (error: unknown) => boolean,
  ): Promise<T> {
    return repeat(
      this.#access,
      this.#run,
      what,
      () => abortable(this.#known(request, isAnswer), this.#run.signal),
      { isAnswer, onOutage: this.#changeServer },
    );
  }

  async #known<T>(request: () => Promise<T>, isAnswer?: (error: unknown) => boolean): Promise<T> {
    const started = performance.now();
    while (true) {
      try {
        return await request();
      } catch (thrown) {
        const error = this.#cause(thrown);
        const isCluster = this.#nats.info?.cluster !== undefined;
        if (!isMissing(error) || !isCluster || isAnswer?.(error) === true) throw error;
        if (performance.now() - started > MISSING_MS) throw error;
        this.#changeServer(started, MISSING_AT_ONE_MS);
        await realTime.sleep(MISSING_WAIT_MS, this.#run.signal);
      }
    }
  }

  /**
   * What the leader of a stream says about it. Without a leader, nodes answer with what they last knew, which
   * may be long ago: that does not count as an answer.
   *
   * @param isAnswer As of `repeat`.
   */
  streamInfo(
    stream: string,
    { deleted = false, subjects, isAnswer }: StreamInfoOptions = {},
  ): Promise<StreamInfo> {
    const request = async () => {
      const info = await this.manager.streams.info(stream, {
        deleted_details: deleted,
        ...(subjects !== undefined && { subjects_filter: subjects }),
      });
      const { leader } = info.cluster ?? { leader: 'the only server' };
      if (leader === undefined || leader === '')
        throw new StaleAnswer(`the stream ${stream} has no leader`);
      return info;
    };
    return this.repeat(`read the stream ${stream}`, request, isAnswer);
  }

  /**
   * For a caller that repeats a request itself.
   *
   * @param since When it was made first.
   */
  tries(what: string, since: number): RequestTries {
    const tries = new Tries(this.#access, this.#run, what, since, this.#changeServer);
    return {
      failed: error => {
        this.signal.throwIfAborted();
        return tries.failed(this.#cause(error));
      },
      end: () => tries.end(),
    };
  }

  /**
   * Rejects with the error of a message that was not stored, or where the servers say that the stream no longer exists,
   * with that: nobody answers a message to a stream that was deleted, as if there were no JetStream.
   *
   * @param deleted What was deleted and what to do, as the message says it.
   */
  async unstored(error: unknown, stream: string, deleted: string): Promise<never> {
    if (!isUnanswered(error)) throw error;
    // All messages on their way fail together.
    let check = this.#checks.get(stream);
    if (check === undefined) {
      check = this.streamInfo(stream).finally(() => this.#checks.delete(stream));
      this.#checks.set(stream, check);
    }
    try {
      await check;
    } catch (missing) {
      if (!(missing instanceof JetStreamError) || missing.failure !== 'stream') throw missing;
      throw new JetStreamError(`${this.#run.call}: ${deleted}`, {
        ...{ failure: 'stream', cause: missing.cause, cursor: this.#run.cursor() },
      });
    }
    throw error;
  }

  /** The typed form of an error of the client. */
  error(what: string, error: unknown): unknown {
    return typedError(this.#access, this.#run, what, this.#cause(error));
  }

  /** Why a request failed: once the connection has ended for good, all fail with that it is closed. */
  #cause(error: unknown): unknown {
    return this.#endedBy ?? error;
  }

  /** Connects to another server where this one has failed for some time: it may be cut off from the rest. */
  readonly #changeServer = (since: number, afterMs = OTHER_SERVER_MS): void => {
    const now = performance.now();
    if (now - Math.max(since, this.#changedAt) < afterMs) return;
    this.#changedAt = now;
    this.#nats.reconnect().catch(() => {});
  };

  /** Ends all that is under way. */
  async close(): Promise<void> {
    await this.#nats.close().catch(() => {});
  }
}

async function repeat<T>(
  access: Access,
  run: ConnectionRun,
  what: string,
  request: () => Promise<T>,
  {
    isAnswer = () => false,
    onOutage,
  }: {
    readonly isAnswer?: ((error: unknown) => boolean) | undefined;
    readonly onOutage?: ((since: number) => void) | undefined;
  } = {},
): Promise<T> {
  const { signal } = run;
  const tries = new Tries(access, run, what, performance.now(), onOutage);
  try {
    while (true) {
      signal.throwIfAborted();
      try {
        return await request();
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer(error)) throw error;
        await tries.failed(error);
      }
    }
  } finally {
    tries.end();
  }
}

/** The tries of one request. Progress shows them as one wait for the servers, which begins when they take a second. */
class Tries {
  readonly #access: Access;
  readonly #run: ConnectionRun;
  readonly #what: string;
  readonly #since: number;
  readonly #onOutage: ((since: number) => void) | undefined;
  #failed = 0;
  #endWait: () => void = () => {};

  /** @param since When the first try began. */
  constructor(
    access: Access,
    run: ConnectionRun,
    what: string,
    since: number,
    onOutage: ((since: number) => void) | undefined,
  ) {
    this.#access = access;
    this.#run = run;
    this.#what = what;
    this.#since = since;
    this.#onOutage = onOutage;
  }

  /**
   * Waits before the next try.
   *
   * @throws The typed error, where the request cannot succeed later or `maxOutageMs` is over.
   */
  async failed(error: unknown): Promise<void> {
    const { maxOutageMs } = this.#access;
    const typed = typedError(this.#access, this.#run, this.#what, error);
    if (!(typed instanceof JetStreamError) || !typed.retryable) throw typed;
    const passedMs = performance.now() - this.#since;
    if (passedMs > maxOutageMs) throw typed;
    if (typed.failure === 'outage') this.#onOutage?.(this.#since);
    this.#failed++;
    if (passedMs >= SHOWN_AFTER_MS) this.#show(typed, maxOutageMs - passedMs);
    await realTime.sleep(backoffMs(this.#failed), this.#run.signal);
  }

  /** The request has succeeded, or is given up. */
  end(): void {
    this.#endWait();
  }

  #show(error: JetStreamError, waitMs: number): void {
    this.#endWait();
    const until = new Date(Date.now() + waitMs);
    const wait = { reason: 'servers', until, waitMs, error, retry: this.#failed } as const;
    this.#endWait = this.#run.progress?.onWait(wait) ?? (() => {});
  }
}

/** How long to wait before a repetition, from the first on. */
function backoffMs(attempt: number): number {
  const longest = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (Math.min(attempt, 20) - 1));
  return longest * (0.5 + Math.random() / 2);
}

/** An error that may pass is retryable: `outage` and `full`. */
function typedError(access: Access, run: ConnectionRun, what: string, error: unknown): unknown {
  const { failure, text, mayPass } = failureOf(error);
  if (failure === undefined) return error;
  const servers = access.addresses.join(', ');
  const cause = new ConnectionError(`${servers}: ${text}`, {
    failure: 'refused',
    url: servers,
    retryable: mayPass,
  });
  const advice = {
    outage: `It is tried again for ${access.maxOutageMs / 1000} s (maxOutageMs). When the servers are back, run the same again: it goes on from the last cursor`,
    full: `It is tried again for ${access.maxOutageMs / 1000} s (maxOutageMs). Give the stream a larger \`max_bytes\`, or its servers more disk, and run the same again: it goes on from the last cursor`,
    refused:
      'Check `tls`, the login, and that it permits the stream, its subjects and the bucket of publishers',
    stream: 'Pass `create` to `toJetStream` to make the stream',
  }[failure];
  return new JetStreamError(`${run.call}: cannot ${what} at ${servers}: ${text}. ${advice}`, {
    ...{ failure, cause, retryable: mayPass, cursor: run.cursor() },
  });
}
