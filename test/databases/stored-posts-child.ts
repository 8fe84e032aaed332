import { pipeline as copyTo } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { committed } from '../../src/sinks/committed.js';
import { localFiles } from '../../src/sources/local-files.js';
import { toCsv } from '../../src/tables/csv/to-csv.js';

// Writes stored posts to PostgreSQL. The second argument is the number of threads that encode them.
// A post that is written twice violates the primary key.
const [folder = '', workers = '2'] = process.argv.slice(2);
const pool = new pg.Pool({ max: 1, allowExitOnIdle: true });
pool.on('connect', client => client.on('error', () => {})).on('error', () => {});
process.stdout.write('started\n');
const result = await pipeline(
  localFiles(folder),
  gunzip(),
  jsonLines(),
  activities(),
  dedupe(),
  committed({
    rows: 50,
    waitMs: 0,
    workers: Number(workers),
    async transaction(work: (client: pg.PoolClient) => Promise<void>) {
      const client = await pool.connect();
      const written = client.query('BEGIN').then(() => work(client));
      const [end] = await Promise.allSettled([written.then(() => client.query('COMMIT'))]);
      client.release(end.status === 'rejected');
      if (end.status === 'rejected') throw end.reason;
    },
    load: async db => (await db.query('SELECT saved FROM checkpoints FOR UPDATE')).rows[0]?.saved,
    save: async (text, db) => {
      await db.query('DELETE FROM checkpoints');
      await db.query('INSERT INTO checkpoints VALUES ($1)', [text]);
    },
    encode: toCsv(['id', 'text']),
    write: (blocks, db) =>
      copyTo(blocks, db.query(copyFrom('COPY stored_posts FROM STDIN (FORMAT csv)'))),
  }),
);
process.stdout.write(`${JSON.stringify(result)}\n`);
