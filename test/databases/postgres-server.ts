import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { spawn } from '../child-processes.js';
import { freePorts } from '../jetstream/free-ports.js';
import { SmallDisk } from '../jetstream/small-disk.js';

/** The folder of the server programs. Debian does not add it to PATH. */
const PROGRAMS = findPrograms();

export const hasPostgres = PROGRAMS !== undefined;

export const INSTALL_POSTGRES =
  'needs PostgreSQL, which tests start themselves: apt-get install postgresql';

if (!hasPostgres) console.warn(`test/databases ${INSTALL_POSTGRES}`);

/** PostgreSQL refuses to run as root, so root starts it as the unprivileged user `nobody`. */
const USER = process.getuid?.() === 0 ? idsOf('nobody') : undefined;

export interface PostgresOptions {
  /** The size of a separate disk for the server, see `canHaveDisk`. @default no separate disk */
  readonly megabytes?: number;
}

export class PostgresServer {
  static readonly canHaveDisk: boolean =
    USER !== undefined && spawnSync('unshare', ['--mount', 'true']).status === 0;

  readonly disk: SmallDisk | undefined;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  static async open({ megabytes }: PostgresOptions = {}): Promise<PostgresServer> {
    const disk = megabytes === undefined ? undefined : await SmallDisk.mount(megabytes, true);
    // The server's user must be able to enter every parent folder.
    const parent = disk?.folder ?? (await mkdtemp(path.join(os.tmpdir(), 'millrace-postgres-')));
    const data = path.join(parent, 'data');
    await mkdir(data, { recursive: true });
    if (USER !== undefined) {
      await chmod(parent, 0o755);
      chownSync(data, USER.uid, USER.gid);
    }
    const [port = 0] = await freePorts(1);
    const server = new PostgresServer(disk === undefined ? data : '/mnt/data', port, disk);
    const { command, args } = server.#asUser('initdb', [
      ...['-U', 'millrace', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      '--wal-segsize=1',
    ]);
    execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
    await server.start();
    return server;
  }

  private constructor(folder: string, port: number, disk: SmallDisk | undefined) {
    this.#folder = folder;
    this.#port = port;
    this.disk = disk;
  }

  get port(): number {
    return this.#port;
  }

  env(port = this.#port): Readonly<Record<string, string>> {
    return {
      PGHOST: '127.0.0.1',
      PGPORT: String(port),
      PGUSER: 'millrace',
      PGDATABASE: 'postgres',
      PGCONNECT_TIMEOUT: '30',
    };
  }

  /**
   * Starts the server, or restarts it on the same port and folder. Resolves when it accepts
   * connections.
   */
  async start(): Promise<void> {
    const { command, args } = this.#asUser('postgres', [
      ...['-p', String(this.#port), '-c', 'listen_addresses=127.0.0.1'],
      // No test simulates a power cut for this server, so it needs no fsync.
      ...['-c', 'unix_socket_directories=', '-c', 'fsync=off', '-c', 'shared_buffers=16MB'],
    ]);
    for (;;) {
      const child = spawn(command, args, { stdio: 'ignore', cwd: '/' });
      this.#child = child;
      while (child.exitCode === null && child.signalCode === null) {
        if (await this.#answers()) return;
        await wait(20);
      }
      // After a kill, the server refuses to start until the last process of the killed server has
      // ended.
      await wait(50);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const closed = once(child, 'close');
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(child.pid)], {
      encoding: 'utf8',
    });
    child.kill('SIGKILL');
    for (const pid of stdout.split('\n').map(Number)) {
      if (pid === 0) continue;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended because its parent is gone.
      }
    }
    await closed;
  }

  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: this.#port,
      user: 'millrace',
      database: 'postgres',
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    if (this.disk !== undefined) await this.disk[Symbol.asyncDispose]();
    else await rm(path.dirname(this.#folder), { recursive: true, force: true, maxRetries: 5 });
  }

  #asUser(program: string, options: readonly string[]): { command: string; args: string[] } {
    const run = [path.join(PROGRAMS ?? '', program), '-D', this.#folder, ...options];
    const ids = USER && ['setpriv', `--reuid=${USER.uid}`, `--regid=${USER.gid}`, '--clear-groups'];
    const [command = '', ...args] = [...(this.disk?.inside ?? []), ...(ids ?? []), ...run];
    return { command, args };
  }

  async #answers(): Promise<boolean> {
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(path.delimiter),
    ...versions
      .toSorted((a, b) => Number(b) - Number(a))
      .map(version => path.join(debian, version, 'bin')),
  ];
  return folders.find(folder => existsSync(path.join(folder, 'initdb')));
}

function idsOf(user: string): { readonly uid: number; readonly gid: number } {
  const [, uid, gid] =
    new RegExp(`^${user}:[^:]*:(\\d+):(\\d+):`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ??
    [];
  return { uid: Number(uid), gid: Number(gid) };
}
