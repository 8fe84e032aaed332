import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { spawn } from '../child-processes.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePorts } from './free-ports.js';

/** Whether this machine has the server; tests skip without it. */
export const hasNatsServer = versionOf() !== undefined;

/** What a skipped test says. */
export const INSTALL = 'needs nats-server: apt-get install nats-server';

if (!hasNatsServer) console.warn(`test/jetstream ${INSTALL}`);

/** How a node differs from the default one. */
export interface NodeOptions {
  /** The folder of its streams, which outlives the node. @default a temporary one */
  readonly store?: string | undefined;
  /** More lines of its configuration, such as `authorization` or `tls`. */
  readonly config?: string | undefined;
  /** More lines of its `jetstream` block, such as `max_file_store: 10MB`. */
  readonly jetstream?: string | undefined;
}

/** One `nats-server` on a port of loopback, with file storage. */
export class NatsNode {
  readonly name: string;
  readonly port: number;
  /** The folder of its streams. */
  readonly store: string;
  readonly #config: string;
  readonly #temporary: boolean;
  #child: ChildProcess | undefined;
  /** The process that was last killed or stopped on purpose. */
  #stopped: ChildProcess | undefined;
  /** How a process ended that was not. */
  #crash: string | undefined;

  constructor(name: string, port: number, store: string, config: string, temporary: boolean) {
    this.name = name;
    this.port = port;
    this.store = store;
    this.#config = config;
    this.#temporary = temporary;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The path of its log. */
  get log(): string {
    return path.join(this.store, 'log');
  }

  /** Starts it, or starts it again on the same port and folder. Resolves when it accepts connections. */
  async start(): Promise<void> {
    if (this.#child !== undefined) return;
    const file = path.join(this.store, 'node.conf');
    await writeFile(file, this.#config);
    // A panic does not get into the log.
    const log = openSync(this.log, 'a');
    const child = spawn('nats-server', ['-c', file, '-l', this.log], {
      stdio: ['ignore', 'ignore', log],
    });
    closeSync(log);
    this.#child = child;
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      if (this.#stopped !== child) this.#crash = `with ${signal ?? code}`;
    });
    while (!(await accepts(this.port))) {
      await this.#mustNotHaveCrashed();
      await wait(20);
    }
  }

  /** Ends it as a crash does: SIGKILL. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops it as a service manager does: SIGTERM. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Stops the process where it is, with its connections open: SIGSTOP. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Throws if it has ended by itself: what a test says about a refused connection then is no help. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    try {
      await this.#mustNotHaveCrashed();
    } finally {
      if (this.#temporary) await rm(this.store, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#stopped = child;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }

  async #mustNotHaveCrashed(): Promise<void> {
    if (this.#crash === undefined) return;
    const log = await readFile(this.log, 'utf8').catch(() => '');
    const [reason = ''] = /\[FTL\].*|^panic.*/m.exec(log) ?? [];
    throw new Error(
      `nats-server ${this.name} on port ${this.port} ended ${this.#crash}: ${reason}\n${log.slice(-6_000)}`,
    );
  }
}

/** Starts one node. */
export async function startNode(options: NodeOptions = {}): Promise<NatsNode> {
  const [port = 0] = await freePorts(1);
  const node = await nodeOf('single', port, options);
  await node.start();
  return node;
}

/** How a cluster differs from three default nodes. */
export interface ClusterOptions {
  /** @default 3 */
  readonly size?: number | undefined;
  /** The options of each node, by its number from 0. */
  readonly node?: ((number: number) => NodeOptions) | undefined;
  /**
   * The port that node `from` uses to reach the routes of node `to`, such as that of a proxy. Nodes tell
   * each other no addresses, so that nothing goes around it.
   * @default the port of the node itself
   */
  readonly routePort?:
    | ((from: number, to: number, port: number) => number | Promise<number>)
    | undefined;
}

/** Nodes on loopback that know each other. */
export class NatsCluster {
  readonly nodes: readonly NatsNode[];

  constructor(nodes: readonly NatsNode[]) {
    this.nodes = nodes;
  }

  get urls(): string[] {
    return this.nodes.map(({ url }) => url);
  }

  /**
   * Starts all nodes that are down, and waits until they take a stream: two of three have a leader, which refuses one
   * with three replicas until the third is connected.
   */
  async start(): Promise<void> {
    await Promise.all(this.nodes.map(node => node.start()));
    const probe = {
      name: 'probe',
      subjects: ['probe'],
      storage: 'memory',
      num_replicas: this.nodes.length,
    };
    while ((await this.ask('$JS.API.STREAM.CREATE.probe', probe)).error !== undefined)
      await wait(100);
    let gone = false;
    while (!gone) {
      const { error } = await this.ask('$JS.API.STREAM.DELETE.probe');
      // An earlier request may have been done without an answer in time.
      gone = error === undefined || (error as { code?: unknown }).code === 404;
    }
  }

  /** The node that leads a stream; waits for an election. */
  async leaderOf(stream: string): Promise<NatsNode> {
    while (true) {
      const { cluster } = (await this.ask(`$JS.API.STREAM.INFO.${stream}`)) as {
        readonly cluster?: { readonly leader?: string };
      };
      const node = this.nodes.find(({ name }) => name === cluster?.leader);
      if (node !== undefined) return node;
      await wait(100);
    }
  }

  /** An answer of the API, by any node that runs. */
  async ask(
    subject: string,
    request: object = {},
  ): Promise<{ readonly error?: unknown; readonly [key: string]: unknown }> {
    const servers = this.nodes.filter(({ isRunning }) => isRunning).map(({ url }) => url);
    try {
      const connection = await connect({ servers, timeout: 2_000, reconnect: false });
      try {
        return (
          await connection.request(subject, JSON.stringify(request), { timeout: 2_000 })
        ).json();
      } finally {
        await connection.close();
      }
    } catch (error) {
      return { error };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map(node => node[Symbol.asyncDispose]()));
  }
}

/** Starts a cluster. */
export async function startCluster({
  size = 3,
  node = () => ({}),
  routePort = (_from, _to, port) => port,
}: ClusterOptions = {}): Promise<NatsCluster> {
  const ports = await freePorts(2 * size);
  const numbers = Array.from({ length: size }, (_, number) => number);
  const nodes = await Promise.all(
    numbers.map(async number => {
      const routes = await Promise.all(
        numbers
          .filter(other => other !== number)
          .map(other => routePort(number, other, ports[size + other] ?? 0)),
      );
      const options = node(number);
      return nodeOf(`n${number}`, ports[number] ?? 0, {
        ...options,
        config: `cluster {
  name: test
  listen: 127.0.0.1:${ports[size + number]}
  no_advertise: true
  routes: [${routes.map(port => `"nats://127.0.0.1:${port}"`).join(', ')}]
}
${options.config ?? ''}`,
      });
    }),
  );
  const cluster = new NatsCluster(nodes);
  await cluster.start();
  return cluster;
}

async function nodeOf(name: string, port: number, options: NodeOptions): Promise<NatsNode> {
  const { store, config = '', jetstream = '' } = options;
  const folder = store ?? (await temporaryFolder());
  const text = `server_name: ${name}
listen: 127.0.0.1:${port}
jetstream {
  store_dir: ${JSON.stringify(path.join(folder, 'streams'))}
  ${jetstream}
}
${config}
`;
  return new NatsNode(name, port, folder, text, store === undefined);
}

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1');
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    // A server that is ready sends its INFO.
    socket.once('data', () => end(true));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
  });
}

function versionOf(): string | undefined {
  try {
    return execFileSync('nats-server', ['--version'], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
}
