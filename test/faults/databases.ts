import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { environmentOf } from '../../src/service/account-variables.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { type Ended, outputOf, spawn } from '../child-processes.js';
import { CommitCutter } from '../databases/commit-cutter.js';
import { hasPostgres, INSTALL_POSTGRES, PostgresServer } from '../databases/postgres-server.js';
import { type Contents, readDuckDb, readPostgres, readSqlite } from '../databases/stored-rows.js';
import { SmallDisk } from '../jetstream/small-disk.js';
import { KilledChild, killUntilDone } from '../killed-child.js';
import {
  type Cell,
  type Counts,
  eachWithHit,
  type Part,
  type Setting,
  type Trial,
} from './part.js';
import type { Random } from './random.js';

const EXAMPLES = {
  sqlite: '15-into-sqlite',
  postgres: '21-into-postgres',
  duckdb: '22-into-duckdb',
  'files and sqlite': '28-files-and-sqlite',
} as const;
type Database = keyof typeof EXAMPLES;

/**
 * The latest time of a kill, in ms after the start. A run without a fault takes about half as long,
 * so some kills come too late.
 */
const RUN_MS = 900;
/**
 * The earliest time of a kill, in ms after the start. Until then, no script has written anything.
 */
const MIN_MS = 100;

/** The free space on the small disk: less than a run needs. */
const ROOM_KIB = { sqlite: 500, duckdb: 900, 'files and sqlite': 900 } as const;

const HOLDS =
  'the run goes on by itself, or ends with a StorageError, and the same script completes it; each row is there once';
const NO_DISK = 'needs root, for a disk of its own';

type Attempt = (shared: Shared, trial: Trial) => Promise<Counts>;
interface DatabaseCell extends Cell {
  readonly attempt?: Attempt;
}

const CELLS: readonly DatabaseCell[] = [
  ...(['sqlite', 'duckdb', 'files and sqlite'] as const).flatMap((database): DatabaseCell[] => [
    { name: `${database}/kill -9`, expects: 'recovers', attempt: killed(database) },
    PostgresServer.canHaveDisk
      ? { name: `${database}/disk full`, expects: 'holds', why: HOLDS, attempt: fullDisk(database) }
      : { name: `${database}/disk full`, expects: 'none', why: NO_DISK },
  ]),
  ...onServer('kill -9', 'recovers', killed('postgres')),
  ...onServer('server killed', 'recovers', serverKilled),
  ...onServer('connection cut in a commit', 'recovers', cutInCommit),
  ...onServer('disk full', 'holds', fullServer, HOLDS),
];

function onServer(name: string, expects: Cell['expects'], attempt: Attempt, why?: string) {
  const cell = { name: `postgres/${name}` };
  if (!hasPostgres) return [{ ...cell, expects: 'none', why: INSTALL_POSTGRES } as const];
  if (attempt === fullServer && !PostgresServer.canHaveDisk)
    return [{ ...cell, expects: 'none', why: NO_DISK } as const];
  return [{ ...cell, expects, attempt, why }];
}

export const databases: Part = {
  name: 'databases',
  title: 'Posts into databases, by the recipes of the examples',
  promise:
    'SQLite, DuckDB and PostgreSQL have each post once, whatever is killed, cut or full meanwhile, and at any moment exactly the rows that the checkpoint counts.',
  cells: CELLS.map(({ attempt: _, ...cell }) => cell),
  seeds: 10,

  async open(setting) {
    const shared = await Shared.open(setting);
    return {
      run: (cell, trials) => {
        const { attempt } = CELLS.find(({ name }) => name === cell.name) as DatabaseCell;
        return eachWithHit(trials, 5, trial => (attempt as Attempt)(shared, trial));
      },
      close: () => shared.close(),
    };
  },
};

class Shared {
  readonly expected: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly #scripts: string;
  readonly #service: Service;
  #server: Promise<PostgresServer> | undefined;

  static async open({ library }: Setting): Promise<Shared> {
    // The folder must be inside the project, where Node finds the packages.
    const scripts = path.join(import.meta.dirname, '../../../examples');
    const entry = (name: string) => fileURLToPath(new URL(name, library));
    await build({
      entryPoints: Object.values(EXAMPLES).map(name => `examples/${name}.ts`),
      outdir: scripts,
      alias: { millrace: entry('index.js'), 'millrace/service': entry('service/index.js') },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'warning',
      external: ['lmdb', '@nats-io/*', 'pg', 'pg-copy-streams', 'libsql', '@duckdb/node-api'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
    const service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
    service.clock.freeze();
    const addresses = await service.start();
    const query = { product: '30day', query: 'coffee OR rain', limit: 2_000 } as const;
    const found = await pipeline(
      search(account(addresses), { ...query, maxResults: 100 }),
      collect(),
    );
    const expected = [...new Set(found.map(({ id }) => id))].toSorted();
    return new Shared({ scripts, service, expected, env: environmentOf(addresses) });
  }

  private constructor(made: {
    readonly scripts: string;
    readonly service: Service;
    readonly expected: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  }) {
    this.#scripts = made.scripts;
    this.#service = made.service;
    this.expected = made.expected;
    this.env = { ...process.env, ...made.env };
  }

  async server(): Promise<PostgresServer> {
    this.#server ??= PostgresServer.open();
    const server = await this.#server;
    await server.query('DROP TABLE IF EXISTS posts, checkpoints');
    return server;
  }

  /** @param place The folder or the small disk to which the script writes. */
  start(database: Database, place: string | SmallDisk, env: Readonly<Record<string, string>> = {}) {
    const script = path.join(this.#scripts, `${EXAMPLES[database]}.js`);
    const onDisk = ['sh', '-c', 'cd /mnt && exec "$@"', 'sh'];
    const inside = place instanceof SmallDisk ? [...place.inside, ...onDisk] : [];
    const [command = '', ...args] = [...inside, process.execPath, script];
    const cwd = typeof place === 'string' ? place : '/';
    const child = spawn(command, args, { cwd, env: { ...this.env, ...env } });
    return { child, ended: outputOf(child) };
  }

  startToKill(
    database: Database,
    cwd: string,
    env: Readonly<Record<string, string>> = {},
  ): KilledChild {
    const script = path.join(this.#scripts, `${EXAMPLES[database]}.js`);
    return new KilledChild(script, [], { cwd, env: { ...this.env, ...env } });
  }

  /**
   * Repeats the script until a run succeeds. Throws if a run fails with an error that is not one of
   * Millrace's. Resolves to the number of failed runs.
   */
  async finish(
    database: Database,
    place: string | SmallDisk,
    env?: Readonly<Record<string, string>>,
  ): Promise<number> {
    for (let errors = 0; ; errors++) {
      const { code, stderr } = await this.start(database, place, env).ended;
      if (code === 0) return errors;
      mustBeTyped(stderr);
      if (errors > 5) throw new Error(`It does not complete:\n${stderr}`);
    }
  }

  /**
   * Keeps the disk full for longer than a run takes. Then frees space and runs the script until it
   * completes.
   */
  async whileFull(
    {
      database,
      disk,
      ended,
      random,
    }: { database: Database; disk: SmallDisk; ended: Promise<Ended>; random: Random },
    place: string | SmallDisk,
    server?: PostgresServer,
  ): Promise<{ readonly isHit: boolean; readonly errors: number }> {
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    await sleep(random.whole(2_500, 4_000));
    const isRunning = !isOver;
    await disk.free();
    if (server !== undefined) {
      // The server exits when its log does not fit on the disk, so it must be restarted.
      await server.kill();
      await server.start();
    }
    const { code, stderr } = await ended;
    if (code === 0) return { isHit: isRunning, errors: 0 };
    // Errors while the script creates its tables come from the database, not from Millrace.
    if (!/full|No space|Invalidated|invalidated|not accept|refused|terminat/i.test(stderr))
      throw new Error(stderr);
    return { isHit: true, errors: 1 + (await this.finish(database, place, server?.env())) };
  }

  mustBeComplete({ ids }: Contents): Counts {
    const found = [...ids].toSorted();
    if (found.join() !== this.expected.join())
      throw new Error(
        `${found.length} rows, ${new Set(found).size} ids, of ${this.expected.length} posts`,
      );
    return { posts: found.length };
  }

  mustBeCommitted({ ids, saved }: Contents): number {
    const rows = saved === undefined ? 0 : Number(JSON.parse(saved).rows);
    const isExact = ids.length === rows && new Set(ids).size === rows;
    if (!isExact || ids.some(id => !this.expected.includes(id)))
      throw new Error(`${ids.length} rows, and the checkpoint counts ${rows}`);
    return rows;
  }

  async close(): Promise<void> {
    await (await this.#server)?.[Symbol.asyncDispose]();
    await this.#service.stop();
  }
}

function mustBeTyped(stderr: string): void {
  if (!/^StorageError: /m.test(stderr)) throw new Error(`Not an error of Millrace:\n${stderr}`);
}

async function contentsOf(
  database: Database,
  cwd: string,
  server?: PostgresServer,
): Promise<Contents> {
  if (database === 'sqlite') return readSqlite(path.join(cwd, 'out/posts.sqlite'));
  if (database === 'files and sqlite') return readFilesAndSqlite(path.join(cwd, 'out/both'));
  if (database === 'duckdb') return readDuckDb(path.join(cwd, 'out/posts.duckdb'));
  return readPostgres(server as PostgresServer);
}

/**
 * Reads the rows and checks that the files contain the same posts. Reads each file only up to the
 * length in the checkpoint. A commit may have synced more bytes before its transaction failed.
 */
async function readFilesAndSqlite(folder: string): Promise<Contents> {
  const contents = readSqlite(path.join(folder, 'posts.sqlite'));
  const files: readonly { readonly path: string; readonly bytes: number }[] =
    JSON.parse(contents.saved ?? '{}').files ?? [];
  const ids: string[] = [];
  for (const { path: name, bytes } of files) {
    const file = path.resolve(folder, '../..', name);
    const stored = await readFile(existsSync(file) ? file : `${file}.part`);
    const lines = gunzipSync(stored.subarray(0, bytes)).toString().split('\n').slice(0, -1);
    for (const line of lines) ids.push(JSON.parse(line).id_str);
  }
  const inBoth = [ids, contents.ids].map(some => some.toSorted().join());
  if (inBoth[0] !== inBoth[1])
    throw new Error(`${ids.length} posts in files, and ${contents.ids.length} in the table`);
  return contents;
}

function killed(database: Database): Attempt {
  return async (shared, { random, folder, signal }) => {
    const server = database === 'postgres' ? await shared.server() : undefined;
    let committed = 0;
    const { kills } = await killUntilDone({
      start: () => shared.startToKill(database, folder, server?.env()),
      begun: () => sleep(MIN_MS),
      maxMs: RUN_MS - MIN_MS,
      random,
      signal,
      attempt: async end => {
        const ended = await end();
        if (ended === 'killed')
          committed += shared.mustBeCommitted(await contentsOf(database, folder, server));
        return ended;
      },
    });
    return {
      hits: kills,
      committed,
      ...shared.mustBeComplete(await contentsOf(database, folder, server)),
    };
  };
}

async function serverKilled(shared: Shared, { random, folder }: Trial): Promise<Counts> {
  const server = await shared.server();
  const { ended } = shared.start('postgres', folder, server.env());
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  await sleep(random.whole(300, RUN_MS));
  const isHit = !isOver;
  await server.kill();
  await sleep(random.whole(0, 1_000));
  await server.start();
  const { code, stderr } = await ended;
  // The script may fail, because it does not retry its first database call.
  if (code !== 0) mustBeTyped(stderr);
  const errors = code === 0 ? 0 : 1 + (await shared.finish('postgres', folder, server.env()));
  return { hits: Number(isHit), errors, ...shared.mustBeComplete(await readPostgres(server)) };
}

async function cutInCommit(shared: Shared, { random, folder }: Trial): Promise<Counts> {
  const server = await shared.server();
  // Never cuts the first commit: a run makes it at the start and does not retry it.
  const cutter = await CommitCutter.open(server.port, {
    at: random.whole(2, 5),
    lost: random.pick(['request', 'answer'] as const),
  });
  try {
    const { code, stderr } = await shared.start('postgres', folder, server.env(cutter.port)).ended;
    if (code !== 0) throw new Error(stderr);
  } finally {
    await cutter.close();
  }
  return { hits: cutter.cuts, ...shared.mustBeComplete(await readPostgres(server)) };
}

function fullDisk(database: Exclude<Database, 'postgres'>): Attempt {
  return async (shared, { random, folder }) => {
    await using disk = await SmallDisk.mount(24, true);
    await disk.fill(random.whole(50, ROOM_KIB[database]) << 10);
    const { ended } = shared.start(database, disk);
    const { isHit, errors } = await shared.whileFull({ database, disk, ended, random }, disk);
    await cp(path.join(disk.folder, 'out'), path.join(folder, 'out'), { recursive: true });
    const contents = await contentsOf(database, folder);
    return { hits: Number(isHit), errors, ...shared.mustBeComplete(contents) };
  };
}

async function fullServer(shared: Shared, { random, folder }: Trial): Promise<Counts> {
  await using server = await PostgresServer.open({ megabytes: 80 });
  const disk = server.disk as SmallDisk;
  await disk.fill(random.whole(200, 3_000) << 10);
  const { ended } = shared.start('postgres', folder, server.env());
  const full = { database: 'postgres', disk, ended, random } as const;
  const { isHit, errors } = await shared.whileFull(full, folder, server);
  return { hits: Number(isHit), errors, ...shared.mustBeComplete(await readPostgres(server)) };
}
