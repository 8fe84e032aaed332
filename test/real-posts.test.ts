import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { Activity, account, dedupe, files, pipeline, routeByTag, search } from 'millrace';
import { createService } from 'millrace/service';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from './temporary-folder.js';

// A folder with posts/original-*.jsonl and posts/activity-*.jsonl that the service delivered.
const folder = process.env.MILLRACE_REAL_DATA;
if (folder === undefined)
  console.log('real posts: skipped; set MILLRACE_REAL_DATA to a folder that has them');

const SETS = [
  ['original', ['original-simdjson.jsonl', 'original-tweet-parser.jsonl']],
  [
    'activity_streams',
    ['activity-gnacs.jsonl', 'activity-tweet-parser.jsonl', 'activity-gnip4j.jsonl'],
  ],
] as const;

/**
 * Removes the matching rules, because the service sets them in the posts that it finds. All other
 * bytes must be the same as in the archive.
 */
const withoutRules = (raw: Uint8Array) => new Activity(raw).withMatchingRules([]).raw.toString();

describe.skipIf(folder === undefined)('real posts', () => {
  it.each(SETS)('in the format %s pass a pipeline unchanged', async (format, names) => {
    const work = await temporaryFolder();
    const stored: Activity[] = [];
    for (const [index, name] of names.entries()) {
      const text = await readFile(path.join(folder as string, 'posts', name));
      await writeFile(path.join(work, `${index}.json.gz`), gzipSync(text));
      for (const line of text.toString().split('\n'))
        if (line.trim() !== '') stored.push(new Activity(Buffer.from(line)));
    }
    const once = new Map(stored.map(post => [post.id, post]));
    const authors = [...new Set(stored.map(post => `from:${post.author.id}`))];

    const service = createService({ archive: work, limits: 'relaxed' });
    try {
      const out = path.join(work, 'out');
      const written = await pipeline(
        search(account({ ...(await service.start()), limits: { search: [] } }), {
          product: 'fullarchive',
          query: authors.join(' OR '),
          tag: 'real posts',
          fromDate: '201101010000',
          toDate: '201901010000',
        }),
        dedupe(),
        routeByTag(),
        files({ path: `${out}/{tag}.jsonl` }),
      );
      expect(written.posts).toBe(once.size);
      expect(written.files.length).toBe(1);
      const lines = (await readFile(written.files[0]?.path as string, 'utf8')).trim().split('\n');
      const found = lines.map(line => new Activity(Buffer.from(line)));
      expect(found.every(post => post.format === format)).toBe(true);
      expect(found.map(post => post.id)).toEqual(
        [...once.keys()].toSorted((a, b) => (BigInt(a) > BigInt(b) ? -1 : 1)),
      );
      for (const post of found)
        expect(withoutRules(post.raw)).toBe(withoutRules((once.get(post.id) as Activity).raw));
    } finally {
      await service.stop();
    }
  });
});
