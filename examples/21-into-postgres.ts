// Writes posts with all columns to PostgreSQL, each once. One transaction contains COPY into a
// staging table, an upsert, and a checkpoint. You can therefore kill the script or the server and
// run it again. PGHOST, PGUSER etc. locate the server: see into-databases.md.
import { pipeline as copyTo } from 'node:stream/promises';
import { account, committed, dedupe, pipeline, search, tables } from 'millrace';
import { createService } from 'millrace/service';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const TYPES = { string: 'text', int32: 'int', double: 'float8', boolean: 'bool', timestamp: 'timestamptz' };
const columns = Object.values(tables.posts);
const sql = columns.map(({ name, type }) => `${name} ${TYPES[type as keyof typeof TYPES] ?? 'json'}`); // lists are stored as json
const setUp = `CREATE TABLE IF NOT EXISTS posts (${sql.join()}, PRIMARY KEY (id)); CREATE TEMP TABLE IF NOT EXISTS staging (LIKE posts);
  CREATE TABLE IF NOT EXISTS checkpoints (name text PRIMARY KEY, saved text)`;
const upsert = `INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE
  SET ${columns.map(({ name }) => `${name} = EXCLUDED.${name}`).join()}; TRUNCATE staging`;
const save = "INSERT INTO checkpoints VALUES ('posts', $1) ON CONFLICT (name) DO UPDATE SET saved = $1";
// PostgreSQL does not store NUL characters.
const withoutNul = (block: Buffer) => (block.includes(0) ? Buffer.from(block.filter(byte => byte !== 0)) : block);
const pool = new pg.Pool({ max: 1, allowExitOnIdle: true });
pool.on('connect', client => client.on('error', () => {})).on('error', () => {}); // the query reports it
const intoPostgres = committed({
  rows: 500,
  async transaction(work: (client: pg.PoolClient) => Promise<void>) {
    const client = await pool.connect();
    const written = client.query(`BEGIN; ${setUp}`).then(() => work(client));
    const [end] = await Promise.allSettled([written.then(() => client.query('COMMIT'))]);
    client.release(end.status === 'rejected'); // after a failure, closes the connection, which rolls the transaction back
    if (end.status === 'rejected') throw end.reason;
  },
  load: async db => (await db.query("SELECT saved FROM checkpoints WHERE name = 'posts' FOR UPDATE")).rows[0]?.saved,
  save: (text, db) => db.query(save, [text]),
  encode: tables.toCsv(),
  async write(blocks, db) {
    await copyTo(blocks.map(withoutNul), db.query(copyFrom('COPY staging FROM STDIN (FORMAT csv)')));
    await db.query(upsert);
  },
});
const service = process.env.MILLRACE_URL ? undefined : createService();
const acme = account(await service?.start());
const query = { product: '30day', query: 'coffee OR rain', limit: 2_000, maxResults: 100 } as const;
console.log(await pipeline(search(acme, query), dedupe(), intoPostgres).finally(() => service?.stop()));
