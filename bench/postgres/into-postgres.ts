import { pipeline as streamed } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const SAVE =
  "INSERT INTO checkpoints VALUES ('posts', $1) ON CONFLICT (name) DO UPDATE SET saved = $1";

export interface PostgresCalls {
  readonly transaction: (work: (client: pg.PoolClient) => Promise<void>) => Promise<void>;
  readonly load: (client: pg.PoolClient) => Promise<string | undefined>;
  readonly save: (text: string, client: pg.PoolClient) => Promise<unknown>;
  /**
   * Writes blocks of CSV with `COPY`. PostgreSQL does not accept NUL characters in text, so they
   * are removed.
   */
  readonly copy: (blocks: readonly Buffer[], client: pg.PoolClient) => Promise<void>;
}

/**
 * Calls `run` with options for `committed`, which use one connection. `before` is SQL to run at the
 * start of each transaction; `after` is SQL to run after each `COPY` into `table`.
 */
export async function intoPostgres(
  run: (calls: PostgresCalls) => Promise<unknown>,
  { table = 'posts', before = '', after = '' } = {},
): Promise<void> {
  const pool = new pg.Pool({ max: 1 });
  await run({
    async transaction(work) {
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
    load: async client =>
      (await client.query('SELECT saved FROM checkpoints FOR UPDATE')).rows[0]?.saved,
    save: (text, client) => client.query(SAVE, [text]),
    async copy(blocks, client) {
      const copy = client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT csv)`));
      await streamed(blocks.map(withoutNul), copy);
      if (after !== '') await client.query(after);
    },
  });
  await pool.end();
}

function withoutNul(block: Buffer): Buffer {
  return block.includes(0) ? Buffer.from(block.filter(byte => byte !== 0)) : block;
}
