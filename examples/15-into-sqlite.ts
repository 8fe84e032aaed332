// Writes posts to a SQLite database, each once. Rows and checkpoint are committed in one
// transaction, so you can kill the script at any moment and run it again. Pass two dates, such as
// `202401010000 202401020000`, to search that time range instead of the last 30 days. If
// MILLRACE_BASE_URL or MILLRACE_URL is set, the script searches there, otherwise in a local
// service.
import { mkdirSync } from 'node:fs';
import Database from 'libsql'; // the same calls as better-sqlite3; or `DatabaseSync` of node:sqlite
import { type Activity, account, committed, dedupe, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

mkdirSync('out', { recursive: true });
const db = new Database('out/posts.sqlite');
db.exec('CREATE TABLE IF NOT EXISTS posts (id TEXT PRIMARY KEY, author TEXT, posted_at TEXT, text TEXT)');
db.exec('CREATE TABLE IF NOT EXISTS checkpoint (only INTEGER PRIMARY KEY, saved TEXT)');
const saved = db.prepare('SELECT saved FROM checkpoint');
const insert = db.prepare('INSERT INTO posts VALUES (?, ?, ?, ?)');
const intoSqlite = committed({
  rows: 500,
  async transaction(work) {
    db.exec('BEGIN IMMEDIATE'); // a concurrent run waits here
    try {
      await work().then(() => db.exec('COMMIT'));
    } finally {
      if (db.inTransaction) db.exec('ROLLBACK');
    }
  },
  load: () => (saved.get() as { saved: string } | undefined)?.saved,
  save: text => db.prepare('INSERT OR REPLACE INTO checkpoint VALUES (1, ?)').run(text),
  write(posts: readonly Activity[]) {
    for (const { id, author, postedAt, text } of posts) insert.run(id, author.handle, postedAt.toISOString(), text);
  },
});
const service = process.env.MILLRACE_BASE_URL || process.env.MILLRACE_URL ? undefined : createService();
const acme = account(await service?.start());
const [fromDate, toDate] = process.argv.slice(2);
const query = { query: 'coffee OR rain', fromDate, toDate, limit: 2_000, maxResults: 100 };
const { rows } = await pipeline(search(acme, { product: '30day', ...query }), dedupe(), intoSqlite);
console.log(`${rows} posts in out/posts.sqlite`);
db.close();
await service?.stop();
