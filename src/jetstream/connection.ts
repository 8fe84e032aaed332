import { setMaxListeners } from 'node:events';
import type { JetStreamClient, JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { abortable } from '../abortable.js';
import { ConnectionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { redactor } from '../http/secret.js';
import { realTime } from '../http/timing.js';
import { connectOptions, REQUEST_MS } from './connect-options.js';
import { failureOf, isMissing, StaleAnswer } from './failure.js';
import { JetStreamError } from './jet-stream-error.js';
import { loadPackages, type Packages } from './packages.js';
import { refusedLogin } from './refused-login.js';
import type { Access } from './servers.js';

const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
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

interface StreamInfoOptions {
  /** Whether to list the sequences that were deleted. */
  readonly deleted?: boolean | undefined;
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
    { deleted = false, isAnswer }: StreamInfoOptions = {},
  ): Promise<StreamInfo> {
    const request = async () => {
      const info = await this.manager.streams.info(stream, { deleted_details: deleted });
      const { leader } = info.cluster ?? { leader: 'the only server' };
      if (leader === undefined || leader === '')
        throw new StaleAnswer(`the stream ${stream} has no leader`);
      return info;
    };
    return this.repeat(`read the stream ${stream}`, request, isAnswer);
  }

  /**
   * Waits before a request is made again. For callers with their own repetition.
   *
   * @param since When it was made first.
   * @throws The typed error, where the request cannot succeed later or `maxOutageMs` is over.
   */
  async mayPass(what: string, error: unknown, since: number, attempt: number): Promise<void> {
    this.signal.throwIfAborted();
    const onOutage = this.#changeServer;
    const cause = this.#cause(error);
    await pause(this.#access, this.#run, { what, error: cause, since, attempt, onOutage });
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
  const started = performance.now();
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      if (isAnswer(error)) throw error;
      await pause(access, run, { what, error, since: started, attempt, onOutage });
    }
  }
}

/** Waits before a repetition, or throws where there is to be none. */
async function pause(
  access: Access,
  run: ConnectionRun,
  {
    what,
    error,
    since,
    attempt,
    onOutage,
  }: {
    readonly what: string;
    readonly error: unknown;
    readonly since: number;
    readonly attempt: number;
    readonly onOutage?: ((since: number) => void) | undefined;
  },
): Promise<void> {
  const { signal, progress } = run;
  const typed = typedError(access, run, what, error);
  if (!(typed instanceof JetStreamError) || !typed.retryable) throw typed;
  if (performance.now() - since > access.maxOutageMs) throw typed;
  if (typed.failure === 'outage') onOutage?.(since);
  const waitMs = backoffMs(attempt);
  const until = new Date(Date.now() + waitMs);
  const end = progress?.onWait({ reason: 'retry', until, waitMs, error: typed, retry: attempt });
  await realTime.sleep(waitMs, signal).finally(end);
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
  const redact = redactor(
    access.user,
    [access.password, access.token].filter(secret => secret !== undefined),
  );
  const servers = access.addresses.join(', ');
  const cause = new ConnectionError(redact(`${servers}: ${text}`), {
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
  return new JetStreamError(
    `${run.call}: cannot ${what} at ${servers}: ${redact(text)}. ${advice}`,
    {
      ...{ failure, cause, retryable: mayPass, cursor: run.cursor() },
    },
  );
}
