// Writes one search to daily files of raw posts and to a SQLite database at once. The checkpoint of
// both is stored in the database. You can kill the script at any moment and run it again. Each post
// is then in the files once and in the table once. If MILLRACE_BASE_URL or MILLRACE_URL is set, the
// script searches there, otherwise in a local service.
import { mkdirSync } from 'node:fs';
import Database from 'libsql'; // the same calls as better-sqlite3; or `DatabaseSync` of node:sqlite
import { type Activity, account, committed, dedupe, files, pipeline, search, tee } from 'millrace';
import { createService } from 'millrace/service';

mkdirSync('out/both', { recursive: true });
const db = new Database('out/both/posts.sqlite');
db.exec('CREATE TABLE IF NOT EXISTS posts (id TEXT PRIMARY KEY, author TEXT, posted_at TEXT, text TEXT)');
db.exec('CREATE TABLE IF NOT EXISTS checkpoint (only INTEGER PRIMARY KEY, saved TEXT)');
const saved = db.prepare('SELECT saved FROM checkpoint');
const insert = db.prepare('INSERT INTO posts VALUES (?, ?, ?, ?)');
const intoSqlite = committed({
  rows: 500,
  async transaction(work) {
    db.exec('BEGIN IMMEDIATE');
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
const posts = search(acme, { product: '30day', query: 'coffee OR rain', limit: 2_000, maxResults: 100 });
const both = tee(files({ path: 'out/both/{day}.jsonl.gz' }), intoSqlite);
const [raw, table] = await pipeline(posts, dedupe(), both);
console.log(`${raw.posts} posts in ${raw.files.length} files, and ${table.rows} in out/both/posts.sqlite`);
db.close();
await service?.stop();
