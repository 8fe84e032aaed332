import { setMaxListeners } from 'node:events';
import type {
  JetStreamClient,
  JetStreamManager,
  StreamInfo,
  StreamInfoRequestOptions,
} from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { abortable } from '../base/abortable.js';
import { realTime } from '../http/timing.js';
import { isMissing, isRefusedLogin, JetStreamError, StaleAnswer } from './jet-stream-errors.js';
import {
  type ConnectionRun,
  type RepeatedRequest,
  RequestTries,
  repeat,
  showWait,
  typedError,
} from './request-tries.js';
import { type Access, connectionOptions, REQUEST_MS } from './servers.js';

/** How long one server may fail until another is tried; longer than an election. */
const OTHER_SERVER_MS = 10_000;
/** How long servers of a cluster may say that a stream does not exist: a server that has just started may not know it yet. */
const MISSING_MS = 10_000;
/** How long one server may say that a stream does not exist until another is asked: it may be cut off from those that know it. */
const MISSING_AT_ONE_MS = 2_000;
/** How long to wait until the servers are asked for the stream again. */
const MISSING_WAIT_MS = 200;

/** How long a reader that waits for a stream sleeps until it asks again. */
const UNMADE_WAIT_MS = 1_000;

/** How long servers must have refused a login: one that reloads its users may refuse all for a moment, and a name may have several addresses. */
const REFUSED_MS = 2_000;
/** How often each server must have refused a login: the client does not take turns exactly. */
const REFUSALS = 2;

/** The packages of the NATS client. */
interface Packages {
  readonly core: typeof import('@nats-io/transport-node');
  readonly jetstream: typeof import('@nats-io/jetstream');
  readonly kv: typeof import('@nats-io/kv');
}

/** A connection that repeats requests while servers restart or elect a leader. */
export class JetStreamConnection {
  readonly packages: Packages;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly #nats: NatsConnection;
  readonly #access: Access;
  readonly #run: ConnectionRun;
  /** By the name of a stream: the request that finds out whether it still exists. */
  readonly #checks = new Map<string, Promise<StreamInfo>>();
  /** When this connection last went to another server. */
  #changedAt = 0;
  /** By their subjects: requests that the login has no permission for. */
  readonly #denials = new Map<string, Error>();
  /** Why the connection has ended for good, such as a login that the servers no longer accept. */
  #endedBy: Error | undefined;

  /**
   * Connects. Servers that are out of reach are tried again, see `maxOutageMs`.
   *
   * @throws JetStreamError
   */
  static async open(access: Access, run: ConnectionRun): Promise<JetStreamConnection> {
    // Each message that is on its way may listen to the signal.
    setMaxListeners(0, run.signal);
    const packages = await loadPackages(run.call);
    const nats = access.connection ?? (await connected(access, run, packages));
    // With `checkAPI`, the manager would send a request that is not repeated.
    const manager = await packages.jetstream.jetstreamManager(nats, {
      checkAPI: false,
      timeout: REQUEST_MS,
      ...access.jetStream,
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
    this.client = packages.jetstream.jetstream(nats, {
      timeout: REQUEST_MS,
      ...access.jetStream,
    });
    this.#access = access;
    this.#run = run;
    const endedBy = (error: unknown) => {
      if (!(error instanceof Error)) return;
      this.#endedBy ??= error;
      void this.close();
    };
    // Not for the caller's connection: other code may use it, and `status()` ends only with the connection.
    if (access.connection === undefined) {
      refusedLogin(nats).then(endedBy);
      void this.#watchDenials();
    }
    nats.closed().then(error => {
      // For a connection that the caller has closed, the client gives no error.
      endedBy(access.connection === undefined ? error : closedByCaller(run, error));
    });
  }

  /** Why the login may not send a request with this subject: the client itself does not reject such a request. */
  denial(subject: string): Error | undefined {
    return [...this.#denials].find(([denied]) => denied.includes(subject))?.[1];
  }

  async #watchDenials(): Promise<void> {
    const { PermissionViolationError } = this.packages.core;
    for await (const status of this.#nats.status())
      if (status.type === 'error' && status.error instanceof PermissionViolationError)
        this.#denials.set(status.error.subject, status.error);
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
    const kvm = new this.packages.kv.Kvm(this.client);
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
      this.#requestFor(what),
      () => abortable(this.#whileMissing(request, isAnswer), this.#run.signal),
      isAnswer,
    );
  }

  /** Makes a request again for some seconds where servers of a cluster say that its stream does not exist. */
  async #whileMissing<T>(
    request: () => Promise<T>,
    isAnswer?: (error: unknown) => boolean,
  ): Promise<T> {
    const started = performance.now();
    while (true) {
      try {
        return await request();
      } catch (thrown) {
        const error = this.#causeOf(thrown);
        const isCluster = this.#nats.info?.cluster !== undefined;
        if (!isMissing(error) || !isCluster || isAnswer?.(error) === true) throw error;
        if (performance.now() - started > MISSING_MS) throw error;
        this.#changeServer(started, MISSING_AT_ONE_MS);
        await realTime.sleep(MISSING_WAIT_MS, this.#run.signal);
      }
    }
  }

  /**
   * What the leader of a stream says about it. Without a leader, other servers answer with what they last
   * knew, which may be long ago: that does not count as an answer, and the request is made again.
   *
   * @param details What to list, too: the sequences that were deleted, or the subjects that match one with wildcards.
   * @param isAnswer Whether an error is an answer that the caller handles.
   */
  streamInfo(
    stream: string,
    details: Partial<StreamInfoRequestOptions> = {},
    isAnswer?: (error: unknown) => boolean,
  ): Promise<StreamInfo> {
    const request = async () => {
      const info = await this.manager.streams.info(stream, details);
      // Without a cluster, there is only one server.
      if (info.cluster !== undefined && !info.cluster.leader)
        throw new StaleAnswer(`the stream ${stream} has no leader`);
      return info;
    };
    return this.repeat(`read the stream ${stream}`, request, isAnswer);
  }

  /** What is known about a stream, once it exists: without a limit of time. */
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
        const end = showWait(this.#run, error, UNMADE_WAIT_MS, retry);
        await realTime.sleep(UNMADE_WAIT_MS, this.signal).finally(end);
      }
    }
  }

  /**
   * The tries of a request that its caller makes again itself.
   *
   * @param since When the first try began.
   */
  tries(what: string, since: number): RequestTries {
    return new RequestTries(this.#requestFor(what), since);
  }

  /**
   * Rejects after a message was not stored: with an error that says so where the stream was deleted, with the error of
   * the client otherwise. The client cannot tell: nobody answers a message to a stream that was deleted, as if there
   * were no JetStream.
   *
   * @param deleted What was deleted and what to do about it, for the error.
   */
  async unstored(error: unknown, stream: string, deleted: string): Promise<never> {
    if (!(error instanceof Error) || error.name !== 'JetStreamNotEnabled') throw error;
    // All messages on their way fail together: one request finds out for all of them.
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
        failure: 'stream',
        cause: missing.cause,
        cursor: this.#run.cursor(),
      });
    }
    throw error;
  }

  /** The typed form of an error of the client. */
  error(what: string, error: unknown): unknown {
    return typedError(this.#requestFor(what), error);
  }

  #requestFor(what: string): RepeatedRequest {
    return {
      access: this.#access,
      run: this.#run,
      what,
      onOutage: this.#changeServer,
      causeOf: this.#causeOf,
    };
  }

  /** Why a request failed. Once the connection has ended for good, the client only says that it is closed. */
  readonly #causeOf = (error: unknown): unknown => this.#endedBy ?? error;

  /** Connects to another server where the present one has failed for some time: it may be cut off from the rest. */
  readonly #changeServer = (since: number, afterMs = OTHER_SERVER_MS): void => {
    // A connection of the caller has other users, which a change would interrupt.
    if (this.#access.connection !== undefined) return;
    const now = performance.now();
    if (now - Math.max(since, this.#changedAt) < afterMs) return;
    this.#changedAt = now;
    this.#nats.reconnect().catch(() => {});
  };

  /** Closes the connection, which ends all requests that are under way. That of the caller stays open. */
  async close(): Promise<void> {
    if (this.#access.connection !== undefined) return;
    await this.#nats.close().catch(() => {});
  }
}

/** The error about a connection of the caller that was closed before the run was over. */
function closedByCaller({ call, cursor }: ConnectionRun, error: unknown): JetStreamError {
  const reason = error instanceof Error ? ` (${error.message})` : '';
  return new JetStreamError(
    `${call}: its \`connection\` was closed${reason}. Run the same again with an open one: it goes on from the last cursor`,
    { failure: 'outage', cause: error, cursor: cursor() },
  );
}

/** A new connection. */
async function connected(
  access: Access,
  run: ConnectionRun,
  packages: Packages,
): Promise<NatsConnection> {
  const options = await connectionOptions(access, run.call, packages.core);
  const nats = await repeat({ access, run, what: 'connect' }, async () => {
    const connecting = packages.core.connect(options);
    try {
      return await abortable(connecting, run.signal);
    } catch (error) {
      // After an abort, the client may still connect.
      connecting.then(late => late.close()).catch(() => {});
      throw error;
    }
  });
  // The client forgets servers that were out of reach before it was connected.
  const known = nats.getServers().map(({ listen }) => listen);
  nats.setServers([...new Set([...known, ...access.addresses])]);
  return nats;
}

/**
 * Loads the NATS client, which is needed from the first connection on.
 *
 * @throws JetStreamError where a package is not installed.
 */
async function loadPackages(call: string): Promise<Packages> {
  try {
    const [core, jetstream, kv] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
      import('@nats-io/kv'),
    ]);
    return { core, jetstream, kv };
  } catch (cause) {
    throw new JetStreamError(
      `${call} needs the NATS client, which is not installed: npm install @nats-io/transport-node @nats-io/jetstream @nats-io/kv`,
      { failure: 'packages', cause },
    );
  }
}

/**
 * Resolves to the refusal once every server refuses the login in the middle of a run, or to `undefined` once the
 * connection is closed. It waits for enough refusals in a row that each server was tried. The client itself would give
 * up after two refusals, which may come from one server of a cluster, or hours apart.
 */
export async function refusedLogin(nats: NatsConnection): Promise<Error | undefined> {
  let refusals = 0;
  let since = 0;
  let isRefused = false;
  for await (const status of nats.status()) {
    if (status.type === 'reconnecting') {
      // The try before this one failed for another reason, so its server may accept the login later.
      if (!isRefused) refusals = 0;
      isRefused = false;
    } else if (status.type === 'reconnect') refusals = 0;
    else if (status.type === 'error' && isRefusedLogin(status.error)) {
      isRefused = true;
      if (refusals++ === 0) since = performance.now();
      const isEnough = refusals >= REFUSALS * nats.getServers().length;
      if (isEnough && performance.now() - since >= REFUSED_MS) return status.error;
    }
  }
  return undefined;
}
