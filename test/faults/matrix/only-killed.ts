import { existsSync } from 'node:fs';
import { appendFile, copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Activity } from 'millrace';
import { hashOf } from './bare-client.js';
import type { Found } from './compare.js';
import {
  committedBytes,
  committedFiles,
  committedGzipLines,
  committedTexts,
  gzipLines,
  linesOf,
  postsOf,
  rowsOf,
  textsIn,
  underKey,
} from './outputs.js';
import { type Attempt, at, COLUMNS, type Pipeline, paced, searchInto } from './pipeline.js';

/**
 * These pipelines write to several places, such as files and a table. Only a kill can leave these
 * places in different states, so other faults are tried only on other pipelines.
 */
export const ONLY_KILLED = {
  'tee, database': {
    run: async attempt => {
      const { chunk, compose, filter, files, map, tee } = attempt.millrace;
      await using database = await openRows(attempt.out);
      const commitIntervalMs = attempt.commitIntervalMs ?? 0;
      await searchInto(
        attempt,
        tee(
          files<Activity>({ path: at(attempt, 'raw.jsonl.gz'), commitIntervalMs }),
          compose(
            map(({ id, raw }: Activity) => [id, raw.toString()] as const),
            // With these values, some commits come while rows are waiting to be written, and others
            // while a transaction is open.
            attempt.millrace.committed({ rows: 10, waitMs: commitIntervalMs, ...database }),
          ),
          compose(
            filter(({ raw }: Activity) => isSelected(hashOf(raw.toString()))),
            files<Activity>({
              path: at(attempt, '{day}.jsonl'),
              commitIntervalMs,
              maxBytes: 2_000,
            }),
          ),
          compose(
            chunk<Activity>(7),
            files({
              path: at(attempt, 'sevens.txt'),
              line: posts => posts.map(({ id }) => id).join(),
              commitIntervalMs,
            }),
          ),
        ),
      );
    },
    found: async out => [
      ...postsOf(await gzipLines(out, '.jsonl.gz')),
      ...underKey('row', (await storedRows(out)).rows),
      ...underKey('selected', postsOf((await textsIn(out, '.jsonl')).flatMap(linesOf))),
      ...underKey('seven', idsOf((await textsIn(out, '.txt')).flatMap(linesOf))),
    ],
    committed: async out => {
      const { rows, saved } = await storedRows(out);
      const files = saved === undefined ? [] : committedFiles(saved);
      const texts = async (suffix: string) =>
        (await committedBytes(out, suffix, files)).flatMap(({ bytes }) => linesOf(String(bytes)));
      return [
        ...postsOf(await committedGzipLines(out, '.jsonl.gz', files)),
        ...underKey('row', rows),
        ...underKey('selected', postsOf(await texts('.jsonl'))),
        ...underKey('seven', idsOf(await texts('.txt'))),
      ];
    },
  },
  'on file': {
    run: attempt =>
      searchInto(
        attempt,
        attempt.millrace.files<Activity>({
          path: at(attempt, '{day}.jsonl'),
          checkpoint: at(attempt, 'checkpoint.json'),
          commitIntervalMs: attempt.commitIntervalMs ?? 0,
          maxBytes: 1_000,
          onFile: ({ path: file }) => moveToStore(attempt, file),
          onFileConcurrency: CALLS_AT_A_TIME,
        }),
      ),
    found: out => storedPosts(out),
    committed: async out => storedPosts(out, await recordedCalls(out)),
  },
  damaged: {
    run: attempt => {
      const { activities, csv, files, gunzip, jsonLines, localFiles, mapAsync, pipeline, tee } =
        attempt.millrace;
      return pipeline(
        localFiles(attempt.input),
        gunzip(),
        jsonLines(),
        activities(),
        // This operator reads ahead of the commits.
        mapAsync(async (post: Activity) => {
          await turn();
          return post;
        }),
        paced<Activity>(attempt),
        tee(
          files<Activity>({ path: at(attempt, 'posts.jsonl'), commitIntervalMs: 0 }),
          csv({
            path: at(attempt, 'posts.csv'),
            columns: [...COLUMNS, 'posted_at'],
            commitIntervalMs: 0,
          }),
          { checkpoint: at(attempt, 'checkpoint.json'), damaged: at(attempt, 'damaged.jsonl') },
        ),
        { signal: attempt.signal },
      );
    },
    found: async out => [
      ...postsOf((await textsIn(out, 'posts.jsonl')).flatMap(linesOf)),
      ...underKey('row', rowsOf(await textsIn(out, '.csv'))),
      ...underKey('damaged', damagedOf((await textsIn(out, 'damaged.jsonl')).flatMap(linesOf))),
    ],
    committed: async out => [
      ...postsOf((await committedTexts(out, 'posts.jsonl')).flatMap(linesOf)),
      ...underKey('row', rowsOf(await committedTexts(out, '.csv'))),
      ...underKey(
        'damaged',
        damagedOf((await committedTexts(out, 'damaged.jsonl')).flatMap(linesOf)),
      ),
    ],
  },
} satisfies Record<string, Pipeline>;

/**
 * Returns whether the branch for selected posts gets a post with this hash. This is true for half
 * of the posts.
 */
export function isSelected(hash: string): boolean {
  return hash < '8';
}

/**
 * Splits lines of comma-separated ids. A commit ends a line early, so a line has seven ids or
 * fewer.
 */
function idsOf(lines: readonly string[]): Found {
  return lines.flatMap(line => line.split(',').map(id => [id, ''] as const));
}

interface SavedRow {
  readonly saved: string;
}

const databaseOf = (out: string) => path.join(out, 'rows.sqlite');

async function openRows(out: string) {
  const { default: Database } = await import('libsql');
  const db = new Database(databaseOf(out));
  db.exec('CREATE TABLE IF NOT EXISTS posts (id TEXT, raw TEXT)');
  db.exec('CREATE TABLE IF NOT EXISTS progress (only INTEGER PRIMARY KEY, saved TEXT)');
  const insert = db.prepare('INSERT INTO posts VALUES (?, ?)');
  return {
    async transaction(work: () => Promise<void>) {
      db.exec('BEGIN IMMEDIATE');
      try {
        await work().then(() => db.exec('COMMIT'));
      } finally {
        if (db.inTransaction) db.exec('ROLLBACK');
      }
    },
    load: () => (db.prepare('SELECT saved FROM progress').get() as SavedRow | undefined)?.saved,
    save: (text: string) => db.prepare('INSERT OR REPLACE INTO progress VALUES (1, ?)').run(text),
    write(rows: readonly (readonly [string, string])[]) {
      for (const row of rows) insert.run(...row);
    },
    async [Symbol.asyncDispose]() {
      db.close();
    },
  };
}

async function storedRows(out: string): Promise<{ rows: Found; saved: string | undefined }> {
  if (!existsSync(databaseOf(out))) return { rows: [], saved: undefined };
  const { default: Database } = await import('libsql');
  const db = new Database(databaseOf(out));
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    if (tables.length < 2) return { rows: [], saved: undefined };
    const rows = db.prepare('SELECT id, raw FROM posts').all() as { id: string; raw: string }[];
    const row = db.prepare('SELECT saved FROM progress').get() as SavedRow | undefined;
    return { rows: rows.map(({ id, raw }) => [id, hashOf(raw)]), saved: row?.saved };
  } finally {
    db.close();
  }
}

const CALLS_AT_A_TIME = 3;

/**
 * Moves a file to another folder, like a user who uploads a file and then deletes it. Throws if the
 * checkpoint already records the call for this file. Also throws if the checkpoint lacks more calls
 * than may run concurrently.
 */
async function moveToStore({ out }: Attempt, file: string): Promise<{ readonly name: string }> {
  const name = path.relative(out, file);
  const log = path.join(out, 'calls.txt');
  const recorded = await recordedCalls(out);
  if (recorded.has(name)) throw new Error(`onFile is called for ${name} again`);
  await appendFile(log, `${name}\n`);
  const called = new Set(linesOf(await readFile(log, 'utf8')));
  const open = [...called].filter(one => !recorded.has(one));
  if (open.length > CALLS_AT_A_TIME) throw new Error(`Calls that are not recorded: ${open}`);
  const target = path.join(out, 'store', name);
  if (existsSync(file)) {
    await mkdir(path.dirname(target), { recursive: true });
    await copyFile(file, `${target}.tmp`);
    await rename(`${target}.tmp`, target);
  }
  await rm(file, { force: true });
  return { name };
}

async function recordedCalls(out: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path.join(out, 'checkpoint.json'), 'utf8').catch(
    () => '{"files":[]}',
  );
  const { files } = JSON.parse(text) as {
    readonly files: readonly {
      readonly path: string;
      readonly handedOn?: { readonly name: string };
    }[];
  };
  const calls = files.flatMap(({ path: file, handedOn }) =>
    handedOn === undefined ? [] : [[path.relative(out, path.resolve(out, file)), handedOn.name]],
  );
  for (const [name, handedOn] of calls)
    if (name !== handedOn) throw new Error(`${name} has the result of ${handedOn}`);
  return new Set(calls.map(([name = '']) => name));
}

async function storedPosts(out: string, names?: ReadonlySet<string>): Promise<Found> {
  const store = path.join(out, 'store');
  if (names === undefined) return postsOf((await textsIn(store, '.jsonl')).flatMap(linesOf));
  const texts = [...names].map(name => readFile(path.join(store, name), 'utf8'));
  return postsOf((await Promise.all(texts)).flatMap(linesOf));
}

/**
 * Identifies a damaged record by its line number. If only a later stage has found the damage,
 * identifies it by its text.
 */
function damagedOf(log: readonly string[]): Found {
  return log.map(line => {
    const {
      origin,
      line: at,
      text,
      base64,
    } = JSON.parse(line) as {
      readonly origin: string;
      readonly line?: number;
      readonly text?: string;
      readonly base64?: string;
    };
    const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
    return [`${path.basename(origin)} ${at ?? text}`, hashOf(bytes.toString('latin1'))];
  });
}
