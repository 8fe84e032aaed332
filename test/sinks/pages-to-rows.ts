import Database from 'libsql';
import { pipeline } from '../../src/flow/pipeline.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { map } from '../../src/operators/map.js';
import type { Activity } from '../../src/post/activity.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { isLong, pages } from './pages.js';

// The script that the test kills: the folder of its files and its database, and the interval between commits.
const [out = '', commitIntervalMs = '0'] = process.argv.slice(2);
const everyMs = Number(commitIntervalMs);

const db = new Database(`${out}/rows.sqlite`);
db.exec('CREATE TABLE IF NOT EXISTS posts (id TEXT, text TEXT)');
db.exec('CREATE TABLE IF NOT EXISTS progress (only INTEGER PRIMARY KEY, saved TEXT)');
const insert = db.prepare('INSERT INTO posts VALUES (?, ?)');

process.stdout.write('started\n');
await pipeline(
  pages(),
  tee(
    files({ path: `${out}/raw.jsonl.gz`, commitIntervalMs: everyMs }),
    compose(
      dedupe({ window: 500 }),
      map(({ id, text }: Activity) => [id, text] as const),
      committed({
        // Some commits have rows that were held, and others end a transaction that was open.
        rows: 10,
        waitMs: everyMs,
        async transaction(work) {
          db.exec('BEGIN IMMEDIATE');
          try {
            await work().then(() => db.exec('COMMIT'));
          } finally {
            if (db.inTransaction) db.exec('ROLLBACK');
          }
        },
        load: () =>
          (db.prepare('SELECT saved FROM progress').get() as { saved: string } | undefined)?.saved,
        save: text => db.prepare('INSERT OR REPLACE INTO progress VALUES (1, ?)').run(text),
        write(rows: readonly (readonly [string, string])[]) {
          for (const row of rows) insert.run(...row);
        },
      }),
    ),
    compose(
      filter(isLong),
      files({ path: `${out}/{day}.jsonl`, commitIntervalMs: everyMs, maxBytes: 60_000 }),
    ),
  ),
);
db.close();
