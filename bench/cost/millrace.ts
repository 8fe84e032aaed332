import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Writable } from 'node:stream';
import {
  activities,
  dedupe,
  gunzip,
  jsonLines,
  localFiles,
  pipeline,
  routeByTag,
  stdout,
  tap,
} from 'millrace';
import type { Work } from '../question.js';

export async function run({ files, out, compared }: Work): Promise<void> {
  let posts = 0;
  const away = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(
    localFiles(files),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe({ window: 10_000 }),
    tap(() => {
      posts++;
    }),
    routeByTag(),
    stdout({ stream: away }),
  );
  if (compared) await writeFile(path.join(out, 'passed.json'), JSON.stringify({ posts }));
}
