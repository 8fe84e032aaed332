import { existsSync } from 'node:fs';
import { appendFile, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pipeline } from '../../../src/flow/pipeline.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import { files } from '../../../src/sinks/files.js';
import { parquet } from '../../../src/sinks/parquet.js';
import { pages } from '../pages.js';

// The script that the test kills. Arguments: the folder of its files, and jsonl or parquet.
const [out = '', format = 'jsonl'] = process.argv.slice(2);

/** Moves a file to another folder, as a user who uploads it and deletes it then. */
async function onFile(file: { readonly path: string }) {
  const name = path.relative(out, file.path);
  await appendFile(`${out}/calls.txt`, `${name}\n`);
  const target = path.join(out, 'store', name);
  if (existsSync(file.path)) {
    await mkdir(path.dirname(target), { recursive: true });
    await copyFile(file.path, `${target}.tmp`);
    await rename(`${target}.tmp`, target);
  }
  await sleep(2);
  await rm(file.path, { force: true });
  return { name };
}

const shared = { checkpoint: `${out}/checkpoint.json`, onFile, onFileConcurrency: 3 };
process.stdout.write('started\n');
await pipeline(
  pages(),
  dedupe({ window: 500 }),
  routeByTag(),
  format === 'jsonl'
    ? files({ path: `${out}/{tag}/{segment}.jsonl`, commitIntervalMs: 5, ...shared })
    : parquet({
        path: `${out}/tag={tag}/posts.parquet`,
        columns: ['tag', 'id', 'text'],
        maxBytes: 60_000,
        rowGroup: 20,
        ...shared,
      }),
);
