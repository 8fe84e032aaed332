import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Digest, Question } from './question.js';

/** Stored gzip files → gunzip → frame → dedupe → route by tag → files. */
export const storedFiles: Question = {
  name: 'stored-files',
  title: 'Stored files: gunzip, frame, dedupe, route by tag, write',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: quick ? 24 : 144 });
    return {
      files: corpus.files,
      bytes: corpus.bytes,
      posts: corpus.posts,
      note:
        `${corpus.files.length} gzip files, ${corpus.posts.toLocaleString('en')} posts with ` +
        `${corpus.duplicates.toLocaleString('en')} duplicates, ${(corpus.bytes / 1e6).toFixed(0)} MB of JSON ` +
        `(${(corpus.bytes / corpus.gzipBytes).toFixed(1)} : 1, ${(corpus.bytes / corpus.posts).toFixed(0)} bytes a post).`,
    };
  },
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'split2, JSON.parse, the line as it came', module: 'split2-raw' },
    { name: 'split2, JSON.parse, JSON.stringify', module: 'split2-stringify', slow: true },
    { name: 'stream-json as documented', module: 'stream-json', slow: true },
    {
      name: 'DuckDB, two threads',
      module: 'duckdb',
      needs: { kind: 'package', name: '@duckdb/node-api', hint: '`npm install` brings it' },
    },
    {
      name: 'zcat, jq, awk',
      module: 'jq',
      slow: true,
      needs: {
        kind: 'command',
        name: 'jq',
        hint: 'install it with your package manager, for example `apt-get install jq`',
      },
    },
    { name: 'gunzip and write all, two threads', module: 'limit', limit: true },
    {
      name: 'two threads by hand, nothing checked, no order',
      module: 'by-hand',
      limit: true,
      compared: true,
      slow: true,
    },
    { name: 'millrace twice, half of the files each', module: 'halves', limit: true, slow: true },
    { name: 'millrace, to a disk, made safe', module: 'millrace', disk: true, ours: true },
    {
      name: 'gunzip and write all, two threads, to a disk, made safe',
      module: 'limit-safe',
      limit: true,
      disk: true,
    },
  ],
  digest: idsByTag,
};

/**
 * Ids of every tag: re-serialised posts have other bytes, but must be the same posts. Sorted, as
 * DuckDB keeps no order.
 */
async function idsByTag(folder: string): Promise<Digest> {
  const digest: Record<string, string | number> = {};
  for (const name of (await readdir(folder)).toSorted()) {
    const ids = (await Promise.all((await filesOf(path.join(folder, name))).map(idsIn))).flat();
    const tag = name.replace(/^tag=|\.jsonl$/g, '');
    digest[tag] = ids.length;
    digest[`${tag} ids`] = createHash('sha256')
      .update(ids.toSorted().join('\n'))
      .digest('hex')
      .slice(0, 16);
  }
  return digest;
}

/** The file, or the files of the folder: DuckDB makes one of each partition. */
async function filesOf(place: string): Promise<string[]> {
  if ((await stat(place)).isFile()) return [place];
  return (await readdir(place)).map(name => path.join(place, name));
}

async function idsIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'latin1');
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => (JSON.parse(line) as { id_str: string }).id_str);
}
