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

export const hasNatsServer = versionOf() !== undefined;

export const INSTALL = 'needs nats-server: apt-get install nats-server';

if (!hasNatsServer) console.warn(`test/jetstream ${INSTALL}`);

export interface NodeOptions {
  /**
   * The folder for the streams of the node. It is kept when the node ends. @default a temporary
   * folder
   */
  readonly store?: string | undefined;
  readonly config?: string | undefined;
  /** Additional lines of the `jetstream` block, such as `max_file_store: 10MB`. */
  readonly jetstream?: string | undefined;
}

export class NatsNode {
  readonly name: string;
  readonly port: number;
  readonly store: string;
  readonly #config: string;
  readonly #temporary: boolean;
  #child: ChildProcess | undefined;
  /** The last process that a test has killed or stopped. */
  #stopped: ChildProcess | undefined;
  /** How the process ended if no test had killed or stopped it. */
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

  get log(): string {
    return path.join(this.store, 'log');
  }

  /**
   * Starts the node, or restarts it on the same port and folder. Resolves when it accepts
   * connections.
   */
  async start(): Promise<void> {
    if (this.#child !== undefined) return;
    const file = path.join(this.store, 'node.conf');
    await writeFile(file, this.#config);
    // The server prints panics to stderr instead of the log, so stderr also goes to the log file.
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

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /**
   * Kills the node. If the node has crashed before, throws, because the test itself would only
   * report a refused connection.
   */
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

export async function startNode(options: NodeOptions = {}): Promise<NatsNode> {
  const [port = 0] = await freePorts(1);
  const node = await nodeOf('single', port, options);
  await node.start();
  return node;
}

export interface ClusterOptions {
  readonly size?: number | undefined;
  readonly node?: ((number: number) => NodeOptions) | undefined;
  /**
   * Returns the port on which node `from` reaches the routes of node `to`, such as the port of a
   * proxy. Nodes do not advertise their addresses, so all traffic uses these ports.
   * @default the port of the node itself
   */
  readonly routePort?:
    | ((from: number, to: number, port: number) => number | Promise<number>)
    | undefined;
}

export class NatsCluster {
  readonly nodes: readonly NatsNode[];

  constructor(nodes: readonly NatsNode[]) {
    this.nodes = nodes;
  }

  get urls(): string[] {
    return this.nodes.map(({ url }) => url);
  }

  /**
   * Starts all stopped nodes, and waits until the cluster can create a stream. Two of three nodes
   * can already elect a leader. However, the leader refuses streams with three replicas until the
   * third node is connected.
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
      // A 404 is fine: an earlier request may have deleted the stream, although its response came
      // too late.
      gone = error === undefined || (error as { code?: unknown }).code === 404;
    }
  }

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
    // The server sends INFO when it is ready.
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
