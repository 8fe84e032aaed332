import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

/**
 * The number of times that each post was found. A post is identified by its id and the sha256 of
 * its line.
 */
export type PostCounts = ReadonlyMap<string, number>;

/**
 * Counts the posts in all lines of the `.jsonl` and `.json.gz` files in these folders, without code
 * from the library.
 */
export function readPosts(...folders: readonly string[]): PostCounts {
  const counts = new Map<string, number>();
  for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
      const file = path.join(folder, name);
      if (!/\.jsonl?(\.gz)?$/.test(name) || name.endsWith('checkpoint.json')) continue;
      const bytes = readFileSync(file);
      const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
      if (text === '') continue;
      if (!text.endsWith('\n')) throw new Error(`${file} ends within a line`);
      for (const line of text.slice(0, -1).split('\n')) {
        const { id_str: id } = JSON.parse(line) as { readonly id_str?: string };
        if (id === undefined) throw new Error(`${file} has a line without an id: ${line}`);
        const key = `${id} ${createHash('sha256').update(line).digest('hex')}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
  return counts;
}

export function comparePosts(
  expected: PostCounts,
  actual: PostCounts,
): { readonly lost: number; readonly doubled: number; readonly others: number } {
  let [lost, doubled, others] = [0, 0, 0];
  for (const key of expected.keys()) if (!actual.has(key)) lost++;
  for (const [key, times] of actual)
    if (!expected.has(key)) others += times;
    else doubled += times - 1;
  return { lost, doubled, others };
}
