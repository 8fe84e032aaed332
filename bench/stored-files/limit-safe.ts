import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Work } from '../question.js';
import { run as gunzipAndWrite } from './limit.js';

/** Like limit.ts, but the output is synced to the disk before the run ends. */
export async function run(work: Work): Promise<void> {
  await gunzipAndWrite(work);
  await Promise.all(
    (await readdir(work.out)).map(async name => {
      const file = await open(path.join(work.out, name), 'r+');
      await file.datasync();
      await file.close();
    }),
  );
}
