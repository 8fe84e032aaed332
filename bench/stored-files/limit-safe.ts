import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Work } from '../question.js';
import { run as gunzipAndWrite } from './limit.js';

/** Does the same as limit.ts, but also syncs the output to disk before the run ends. */
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
