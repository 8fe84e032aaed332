// Posts into a SQLite database, each exactly once: rows and cursor are committed in one transaction.
// Kill it at any moment and run it again: it continues after its last commit. `15-into-sqlite.ts
// 202401010000 202401020000` uses that window instead of the last 30 days. With MILLRACE_BASE_URL or
// MILLRACE_URL in the environment it searches there, otherwise in a local service.
import Database from 'libsql'; // the same calls as better-sqlite3; or `DatabaseSync` of node:sqlite
import { type Activity, account, dedupe, type Flow, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

/** A sink with its own checkpoint: `pipeline` passes it a `Flow`, whose batches have cursors. */
const intoSqlite = (file: string) => async (posts: Flow<Activity>) => {
  const db = new Database(file);
  db.exec('CREATE TABLE IF NOT EXISTS posts (id TEXT PRIMARY KEY, author TEXT, posted_at TEXT, text TEXT)');
  db.exec('CREATE TABLE IF NOT EXISTS checkpoint (only INTEGER PRIMARY KEY, flow TEXT, cursor TEXT)');
  const insert = db.prepare('INSERT INTO posts VALUES (?, ?, ?, ?)');
  const save = db.prepare('INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)');
  const saved = db.prepare('SELECT * FROM checkpoint').all()[0] as Checkpoint | undefined;
  const flow = JSON.stringify(posts.identity);
  if (saved !== undefined && saved.flow !== flow) throw new Error(`${file} is of another flow`);
  if (saved?.cursor !== COMPLETE) {
    db.exec('BEGIN');
    for await (const { items, cursor } of posts.batches({ resume: saved && JSON.parse(saved.cursor) })) {
      for (const { id, author, postedAt, text } of items) insert.run(id, author.handle, postedAt.toISOString(), text);
      if (cursor === undefined) continue; // rows without a cursor wait for the next one
      save.run(flow, JSON.stringify(cursor));
      db.exec('COMMIT; BEGIN');
    }
    save.run(flow, COMPLETE);
    db.exec('COMMIT');
  }
  const [{ count }] = db.prepare('SELECT count(*) AS count FROM posts').all() as [{ count: number }];
  db.close();
  return count;
};

interface Checkpoint {
  readonly flow: string;
  readonly cursor: string;
}
const COMPLETE = 'complete';

const hasAddress = Boolean(process.env.MILLRACE_BASE_URL || process.env.MILLRACE_URL);
const service = hasAddress ? undefined : createService();
const acme = service === undefined ? account() : account(await service.start());
const [fromDate, toDate] = process.argv.slice(2);
const query = 'coffee OR rain';
const count = await pipeline(
  search(acme, { product: '30day', query, fromDate, toDate, limit: 2_000, maxResults: 100 }),
  dedupe(),
  intoSqlite('posts.sqlite'),
);
console.log(`${count} posts in posts.sqlite`);
await service?.stop();
