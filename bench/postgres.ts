import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { csv, dedupe, pipeline } from 'millrace';
import { storedCorpus } from './corpus.js';
import { median } from './measure.js';
import { COLUMNS, TABLE } from './postgres/columns.js';
import type { Sample, Study, Work } from './question.js';
import { readPosts } from './tables/read-posts.js';

const PORT = 15_439;
/** The user id of Debian's `nobody`, because the server refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? 65_534 : undefined;
const ENV = {
  PGHOST: '127.0.0.1',
  PGPORT: String(PORT),
  PGUSER: 'millrace',
  PGDATABASE: 'postgres',
};

const WRITERS = [
  ['psql, COPY of a CSV file', 'psql'],
  ['`csv`, then psql, COPY of its file', 'csv-psql'],
  ['`committed`, COPY of the rows of that file', 'copy-rows'],
  ['`committed`, COPY', 'copy'],
  ['psql, COPY of a CSV file into a staging table, upsert', 'psql-upsert'],
  ['`committed`, COPY into a staging table, upsert', 'upsert'],
] as const;

/** The variant with psql that does the same work. */
const PEERS = {
  psql: 'psql',
  'csv-psql': 'csv-psql',
  'copy-rows': 'psql',
  copy: 'psql',
  'psql-upsert': 'psql-upsert',
  upsert: 'psql-upsert',
} as const;

/**
 * Writes stored posts with all columns to PostgreSQL. Compares this with psql and a CSV file that
 * already contains the rows.
 */
export const postgres: Study = {
  name: 'postgres',
  title: 'Stored posts into PostgreSQL, all columns',
  async run({ quick, places }) {
    const programs = findPrograms();
    if (programs === undefined)
      return {
        markdown: 'Left out: needs PostgreSQL, `apt-get install postgresql`.\n',
        charts: [],
      };
    const { files, posts } = await storedCorpus({ files: quick ? 24 : 144 });
    const folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-bench-'));
    const server = await startServer(programs, folder);
    try {
      const work: Work = { files, out: places.scratch, posts, compared: false };
      const file = path.join(places.scratch, 'posts.csv');
      await pipeline(readPosts(work), dedupe(), csv({ path: file }));
      await writeFile(path.join(places.scratch, 'posts.ends'), endsOfRows(await readFile(file)));
      const seconds = new Map<string, number[]>(WRITERS.map(([, writer]) => [writer, []]));
      const rows = new Set<string>();
      for (let round = 0; round < (quick ? 1 : 5); round++)
        for (const [, writer] of round % 2 === 0 ? WRITERS : WRITERS.toReversed()) {
          psql(programs, `DROP TABLE IF EXISTS posts, checkpoints; ${TABLE}; CHECKPOINT`);
          const taken = await timeOf(writer, { programs, work, file });
          seconds.get(writer)?.push(taken);
          rows.add(
            psql(
              programs,
              'SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY id)) FROM posts t',
            ),
          );
        }
      if (rows.size !== 1) throw new Error(`The rows differ: ${[...rows].join(' ')}`);
      const rate = (writer: string) => posts / median(seconds.get(writer) ?? []);
      const lines = WRITERS.map(([name, writer]) => {
        const peer = rate(PEERS[writer]);
        return `| ${name} | ${Math.round(rate(writer)).toLocaleString('en')} | ${(rate(writer) / peer).toFixed(2)} | ${(rate(writer) / rate('psql')).toFixed(2)} |`;
      });
      return {
        markdown: [
          `${posts.toLocaleString('en')} posts, ${COLUMNS.length} columns, into a table with a primary key; median of ${quick ? 1 : 5}. psql reads a CSV file`,
          'that is there already. `committed` reads the same file, or gzip files of JSON, and commits every 5,000 rows with its checkpoint. Afterwards, the tables have the same rows.',
          '',
          '| | posts/s | of psql doing the same | of `COPY` by psql |',
          '| --- | ---: | ---: | ---: |',
          ...lines,
          '',
        ].join('\n'),
        charts: [],
      };
    } finally {
      const closed = once(server, 'close');
      server.kill('SIGINT');
      await closed;
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

type Writer = (typeof WRITERS)[number][1];

async function timeOf(
  writer: Writer,
  { programs, work, file }: { programs: string; work: Work; file: string },
): Promise<number> {
  switch (writer) {
    case 'copy':
    case 'copy-rows':
    case 'upsert':
      return await child(writer, work);
    case 'csv-psql': {
      const written = await child('csv', work);
      const own = path.join(work.out, 'own.csv');
      return written + timed(() => psql(programs, script('psql', own)));
    }
    default:
      return timed(() => psql(programs, script(writer, file)));
  }
}

function script(writer: 'psql' | 'psql-upsert', file: string): string {
  const copy = (table: string) => `\\copy ${table} FROM '${file}' (FORMAT csv, HEADER)\n`;
  if (writer === 'psql') return copy('posts');
  const newer = COLUMNS.map(({ name }) => `${name} = EXCLUDED.${name}`).join();
  return `CREATE TEMP TABLE staging (LIKE posts);\n${copy('staging')}INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE SET ${newer};`;
}

/**
 * Returns where each row ends, including the header. Finding this during the measurement would take
 * a quarter as long as the `COPY`.
 */
function endsOfRows(bytes: Buffer): Uint32Array {
  const ends: number[] = [];
  let isQuoted = false;
  for (const [place, byte] of bytes.entries()) {
    if (byte === 0x22) isQuoted = !isQuoted;
    else if (byte === 0x0a && !isQuoted) ends.push(place + 1);
  }
  return Uint32Array.from(ends);
}

function psql(programs: string, sql: string): string {
  const args = ['-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'];
  return execFileSync(path.join(programs, 'psql'), args, {
    ...{ input: sql, encoding: 'utf8', env: { ...process.env, ...ENV } },
  });
}

function timed(work: () => void): number {
  const before = performance.now();
  work();
  return (performance.now() - before) / 1000;
}

async function child(writer: string, work: Work): Promise<number> {
  const here = (name: string) => path.join(import.meta.dirname, name);
  const running = spawn(process.execPath, [here('child.js'), here(`postgres/${writer}.js`)], {
    ...{ stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...ENV } },
  });
  running.stdin.end(JSON.stringify(work));
  let printed = '';
  running.stdout.setEncoding('utf8').on('data', text => {
    printed += text;
  });
  await once(running, 'close');
  return (JSON.parse(printed) as Sample).seconds;
}

async function startServer(programs: string, folder: string) {
  const data = path.join(folder, 'data');
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (NOBODY !== undefined) chownSync(data, NOBODY, NOBODY);
  const owner = NOBODY === undefined ? {} : { uid: NOBODY, gid: NOBODY };
  const args = ['-D', data, '-U', 'millrace', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(path.join(programs, 'initdb'), args, { ...owner, stdio: 'ignore', cwd: '/' });
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_wal_size=4GB'];
  const server = spawn(
    path.join(programs, 'postgres'),
    ['-D', data, '-p', String(PORT), ...settings.flatMap(setting => ['-c', setting])],
    { ...owner, stdio: 'ignore', cwd: '/' },
  );
  for (;;) {
    try {
      psql(programs, 'SELECT 1');
      return server;
    } catch {
      if (server.exitCode !== null) throw new Error('PostgreSQL does not start');
      await wait(100);
    }
  }
}

/** Finds the server programs, which Debian does not add to PATH. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = versions.map(version => path.join(debian, version, 'bin'));
  return [...folders, ...(process.env.PATH ?? '').split(':')].find(one =>
    existsSync(path.join(one, 'initdb')),
  );
}
