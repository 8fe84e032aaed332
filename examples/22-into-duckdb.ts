// Writes posts to DuckDB, each once, with its appender and one transaction. You can kill the script
// at any moment and run it again.
import { mkdirSync } from 'node:fs';
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { type Activity, account, committed, dedupe, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

mkdirSync('out', { recursive: true });
const db = await (await DuckDBInstance.create('out/posts.duckdb')).connect();
await db.run('CREATE TABLE IF NOT EXISTS posts (id UBIGINT, author VARCHAR, posted_at TIMESTAMPTZ, text VARCHAR)');
await db.run('CREATE TABLE IF NOT EXISTS checkpoint (saved VARCHAR)');
const intoDuckDb = committed({
  rows: 500,
  async transaction(work) {
    await db.run('BEGIN');
    try {
      await work().then(() => db.run('COMMIT'));
    } catch (error) {
      await db.run('ROLLBACK').catch(() => {}); // a failed commit has already rolled back
      throw error;
    }
  },
  load: async () => (await db.runAndReadAll('SELECT saved FROM checkpoint')).getRows()[0]?.[0] as string | undefined,
  save: text => db.run('DELETE FROM checkpoint; INSERT INTO checkpoint VALUES ($1)', [text]),
  async write(posts: readonly Activity[]) {
    const appender = await db.createAppender('posts');
    for (const { id, author, postedAt, text } of posts) {
      appender.appendUBigInt(BigInt(id));
      appender.appendVarchar(author.handle);
      appender.appendTimestampTZ(new DuckDBTimestampTZValue(BigInt(postedAt.getTime()) * 1_000n));
      appender.appendVarchar(text);
      appender.endRow();
    }
    appender.closeSync();
  },
});
const service = process.env.MILLRACE_URL ? undefined : createService();
const acme = account(await service?.start());
const query = { product: '30day', query: 'coffee OR rain', limit: 2_000, maxResults: 100 } as const;
console.log(await pipeline(search(acme, query), dedupe(), intoDuckDb).finally(() => service?.stop()));
