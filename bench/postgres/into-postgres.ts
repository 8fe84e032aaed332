import { finished } from 'node:stream/promises';
import { type Activity, committed, dedupe, pipeline, tables } from 'millrace';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Work } from '../question.js';
import { readPosts } from '../tables/read-posts.js';

const SAVE =
  "INSERT INTO checkpoints VALUES ('posts', $1) ON CONFLICT (name) DO UPDATE SET saved = $1";

/** As the example does it. */
export async function intoPostgres(
  work: Work,
  table: string,
  before: string,
  after: string,
): Promise<void> {
  await pipeline(
    readPosts(work),
    dedupe(),
    committed({
      transaction(work: (client: pg.Client) => Promise<void>) {
        const client = new pg.Client();
        const written = client
          .connect()
          .then(() => client.query(`BEGIN; ${before}`))
          .then(() => work(client));
        return written.then(() => client.query('COMMIT')).finally(() => client.end());
      },
      load: async db => (await db.query('SELECT saved FROM checkpoints FOR UPDATE')).rows[0]?.saved,
      save: (text, db) => db.query(SAVE, [text]),
      async write(posts: readonly Activity[], db) {
        const copy = db.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT csv)`));
        await finished(copy.end(posts.map(tables.toCsv()).join('').replaceAll('\0', '')));
        if (after !== '') await db.query(after);
      },
    }),
  );
}
