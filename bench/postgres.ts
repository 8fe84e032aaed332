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
import { CORPORA, type NamedCorpus } from './corpus.js';
import { median } from './measure.js';
import { COLUMNS, TABLE } from './postgres/columns.js';
import type { Places, Sample, Study, Work } from './question.js';
import { readPosts } from './tables/read-posts.js';

const PORT = 15_439;
/**
 * The id of Debian's user `nobody`. The server runs as this user if the benchmark runs as root,
 * because the server refuses to run as root.
 */
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
  ['`committed` with `encode`, COPY', 'copy'],
  ['`committed`, COPY of rows that `write` prints', 'copy-items'],
  ['`committed`, COPY of the rows of that CSV file', 'copy-rows'],
  ['psql, COPY of a CSV file into a staging table, upsert', 'psql-upsert'],
  ['`committed` with `encode`, COPY into a staging table, upsert', 'upsert'],
] as const;

interface Run {
  readonly seconds: number;
  readonly mainSeconds?: number | undefined;
}

/**
 * Writes stored posts with all columns to PostgreSQL. Compares this with psql, which reads a CSV
 * file that already contains the rows.
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
    const folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-bench-'));
    const server = await startServer(programs, folder);
    const parts: string[] = [];
    try {
      for (const corpus of CORPORA.slice(0, quick ? 1 : 2))
        parts.push(await tableOf(corpus, { programs, quick, places }));
    } finally {
      const closed = once(server, 'close');
      server.kill('SIGINT');
      await closed;
      rmSync(folder, { recursive: true, force: true });
    }
    return { markdown: [...INTRODUCTION, ...parts].join('\n'), charts: [] };
  },
};

const INTRODUCTION = [
  `All ${COLUMNS.length} columns, into a table with a primary key; medians, in turns. psql reads a CSV file that is there already.`,
  '`committed` reads gzip files of JSON, or the same CSV file, and commits every 5,000 rows with its checkpoint, or 20,000 with `encode`. Afterwards, the tables have the same rows.',
  '',
];

async function tableOf(
  corpus: NamedCorpus,
  { programs, quick, places }: { programs: string; quick: boolean; places: Places },
): Promise<string> {
  const { files, posts } = await corpus.make({ files: quick ? 24 : 144 });
  const work: Work = { files, out: places.scratch, posts, compared: false };
  const file = path.join(places.scratch, 'posts.csv');
  await pipeline(readPosts(work), dedupe(), csv({ path: file }));
  await writeFile(path.join(places.scratch, 'posts.ends'), endsOfRows(await readFile(file)));
  const runs = new Map<Writer, Run[]>(WRITERS.map(([, writer]) => [writer, []]));
  const rows = new Set<string>();
  const rounds = quick ? 1 : 5;
  for (let round = 0; round < rounds; round++)
    for (const [, writer] of round % 2 === 0 ? WRITERS : WRITERS.toReversed()) {
      psql(programs, `DROP TABLE IF EXISTS posts, checkpoints; ${TABLE}; CHECKPOINT`);
      runs.get(writer)?.push(await runOf(writer, { programs, work, file }));
      rows.add(
        psql(
          programs,
          'SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY id)) FROM posts t',
        ),
      );
    }
  if (rows.size !== 1) throw new Error(`The rows differ: ${[...rows].join(' ')}`);
  const secondsOf = (writer: Writer) =>
    median((runs.get(writer) ?? []).map(({ seconds }) => seconds));
  const mainOf = (writer: Writer) => {
    const main = (runs.get(writer) ?? []).flatMap(({ mainSeconds }) => mainSeconds ?? []);
    return main.length === 0 ? '' : ((median(main) * 1e6) / posts).toFixed(2);
  };
  const lines = WRITERS.map(([name, writer]) => {
    const seconds = secondsOf(writer);
    const ratios = ['csv-psql', 'psql'].map(peer =>
      (secondsOf(peer as Writer) / seconds).toFixed(2),
    );
    return `| ${name} | ${Math.round(posts / seconds).toLocaleString('en')} | ${ratios.join(' | ')} | ${mainOf(writer)} |`;
  });
  return [
    `${posts.toLocaleString('en')} ${corpus.about} (${files.length} files, the ${corpus.name} corpus), ${rounds} runs:`,
    '',
    '| | posts/s | of `csv`, then psql | of `COPY` by psql | main thread, µs a post |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...lines,
    '',
  ].join('\n');
}

type Writer = (typeof WRITERS)[number][1];

async function runOf(
  writer: Writer,
  { programs, work, file }: { programs: string; work: Work; file: string },
): Promise<Run> {
  switch (writer) {
    case 'copy':
    case 'copy-items':
    case 'copy-rows':
    case 'upsert':
      return await child(writer, work);
    case 'csv-psql': {
      const { seconds } = await child('csv', work);
      const own = path.join(work.out, 'own.csv');
      return { seconds: seconds + timed(() => psql(programs, script('psql', own))) };
    }
    default:
      return { seconds: timed(() => psql(programs, script(writer, file))) };
  }
}

function script(writer: 'psql' | 'psql-upsert', file: string): string {
  const copy = (table: string) => `\\copy ${table} FROM '${file}' (FORMAT csv, HEADER)\n`;
  if (writer === 'psql') return copy('posts');
  const newer = COLUMNS.map(({ name }) => `${name} = EXCLUDED.${name}`).join();
  return `CREATE TEMP TABLE staging (LIKE posts);\n${copy('staging')}INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE SET ${newer};`;
}

/**
 * Returns the offsets at which the header and the rows end. Finding these offsets during the
 * measurement would take a quarter as long as the `COPY`.
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

async function child(writer: string, work: Work): Promise<Sample> {
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
  return JSON.parse(printed) as Sample;
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

/** Returns the folder of the PostgreSQL programs. On Debian, this folder is not in PATH. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = versions.map(version => path.join(debian, version, 'bin'));
  return [...folders, ...(process.env.PATH ?? '').split(':')].find(one =>
    existsSync(path.join(one, 'initdb')),
  );
}
