import { finished } from 'node:stream/promises';
import { committed, type Flow, pipeline } from 'millrace';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const SAVE =
  "INSERT INTO checkpoints VALUES ('posts', $1) ON CONFLICT (name) DO UPDATE SET saved = $1";

/** Writes as the example does. `toCsv` makes the lines of the rows that are committed together. */
export async function intoPostgres<T>(
  rows: Flow<T>,
  toCsv: (rows: readonly T[]) => string | Buffer,
  { table = 'posts', before = '', after = '' } = {},
): Promise<void> {
  const pool = new pg.Pool({ max: 1 });
  await pipeline(
    rows,
    committed({
      async transaction(work: (client: pg.PoolClient) => Promise<void>) {
        const client = await pool.connect();
        let hasFailed = true;
        try {
          await client.query(`BEGIN; ${before}`);
          await work(client);
          await client.query('COMMIT');
          hasFailed = false;
        } finally {
          client.release(hasFailed);
        }
      },
      load: async db => (await db.query('SELECT saved FROM checkpoints FOR UPDATE')).rows[0]?.saved,
      save: (text, db) => db.query(SAVE, [text]),
      async write(rows: readonly T[], db) {
        const copy = db.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT csv)`));
        await finished(copy.end(toCsv(rows)));
        if (after !== '') await db.query(after);
      },
    }),
  );
  await pool.end();
}
