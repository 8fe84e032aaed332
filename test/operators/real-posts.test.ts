import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonArray } from '../../src/operators/json-array.js';
import { jsonElements } from '../../src/operators/json-elements.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { collect } from '../../src/sinks/collect.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all, blocks, cutAt } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';

const data = process.env.MILLRACE_REAL_DATA;

it.skipIf(data === undefined)(
  'every operator keeps the bytes of real posts (needs MILLRACE_REAL_DATA)',
  async () => {
    const folder = await temporaryFolder();
    const lines: Buffer[] = [];
    for (const name of (await readdir(join(data!, 'posts'))).sort()) {
      const bytes = await readFile(join(data!, 'posts', name));
      const posts = bytes.toString().trim().split('\n');
      lines.push(...posts.map(post => Buffer.from(post)));
      const end = '\r\n{"info":{"message":"Replay Request Completed","activity_count":0}}';
      await writeFile(join(folder, `${name}.gz`), gzipSync(posts.join('\r\n') + end));
    }
    const ids = lines.map(idOf);
    const firsts = lines.filter((_, at) => ids.indexOf(ids[at]!) === at);

    const read = await pipeline(localFiles(folder), gunzip(), jsonLines(), activities(), collect());
    expect(read.map(({ raw }) => raw.toString())).toEqual(lines.map(String));
    const once = await pipeline(
      localFiles(folder),
      gunzip(),
      jsonLines(),
      activities(),
      dedupe(),
      collect(),
    );
    expect(once.map(({ raw }) => raw.toString())).toEqual(firsts.map(String));
    expect(once.map(({ id }) => id)).toEqual(firsts.map(idOf));

    const page = Buffer.from(`{"results":[${lines.map(String).join(', ')}],"next":"x"}`);
    const places = Array.from({ length: 50 }, (_, n) => Math.floor((page.length * n) / 50));
    const parts = cutAt(page, places);
    const elements = await all(jsonElements('results')(blocks(parts)));
    expect(elements.map(String)).toEqual(lines.map(String));
    const parsed = await all(jsonArray('results')(blocks(parts)));
    expect(parsed).toEqual(lines.map(line => parseExact(line)));
  },
);

/** Finds the id in the text of a post, without the code under test. */
function idOf(line: Buffer): string {
  const post = JSON.parse(line.toString()) as { id_str?: string; id: string };
  return post.id_str ?? /\d+$/.exec(post.id)![0];
}
