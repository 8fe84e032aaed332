import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { CORPORA, type NamedCorpus, storedCorpus } from './corpus.js';
import type { Digest, Input, Question, Variant } from './question.js';

const DUCKDB: Variant = {
  name: 'DuckDB, two threads',
  module: 'duckdb',
  needs: { kind: 'package', name: '@duckdb/node-api', hint: '`npm install` brings it' },
};

export const storedFiles: Question = {
  name: 'stored-files',
  title: 'Stored files: gunzip, frame, dedupe, route by tag, write',
  async prepare({ quick }) {
    return inputOf({ make: storedCorpus, format: 'original' }, quick);
  },
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'millrace, without worker threads', module: 'main-thread', ours: true },
    { name: 'split2, JSON.parse, the line as it came', module: 'split2-raw' },
    { name: 'split2, JSON.parse, JSON.stringify', module: 'split2-stringify', slow: true },
    { name: 'stream-json as documented', module: 'stream-json', slow: true },
    DUCKDB,
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

/** The same benchmark for each of the corpora on which the code was not tuned. */
export const storedFilesOthers: readonly Question[] = CORPORA.slice(1).map(corpus => ({
  name: `stored-files-${corpus.name}`,
  folder: 'stored-files',
  title: `Stored files, ${corpus.name} corpus: ${corpus.about}`,
  prepare: ({ quick }) => inputOf(corpus, quick),
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'millrace, without worker threads', module: 'main-thread', ours: true },
    { name: 'split2, JSON.parse, the line as it came', module: 'split2-raw' },
    DUCKDB,
    { name: 'gunzip and write all, two threads', module: 'limit', limit: true },
  ],
  digest: idsByTag,
}));

async function inputOf(
  { make, format }: Pick<NamedCorpus, 'make' | 'format'>,
  quick: boolean,
): Promise<Input> {
  const { files, bytes, posts, duplicates, gzipBytes } = await make({ files: quick ? 24 : 144 });
  return {
    files,
    bytes,
    posts,
    format,
    note:
      `${files.length} gzip files, ${posts.toLocaleString('en')} posts with ` +
      `${duplicates.toLocaleString('en')} duplicates, ${(bytes / 1e6).toFixed(0)} MB of JSON ` +
      `(${(bytes / gzipBytes).toFixed(1)} : 1, ${(bytes / posts).toFixed(0)} bytes a post).`,
  };
}

/**
 * Returns a digest of the ids for each tag. The bytes are not compared, because tools that
 * serialise posts again write different bytes for the same posts. The ids are sorted, because
 * DuckDB does not keep the order of posts.
 */
export async function idsByTag(folder: string): Promise<Digest> {
  const digest: Record<string, string | number> = {};
  const names = (await readdir(folder)).map(name => {
    return { name, tag: decodeURIComponent(name.replace(/^tag=|\.jsonl$/g, '')) };
  });
  for (const { name, tag } of names.toSorted((a, b) => (a.tag < b.tag ? -1 : 1))) {
    const ids = (await Promise.all((await filesOf(path.join(folder, name))).map(idsIn))).flat();
    digest[tag] = ids.length;
    digest[`${tag} ids`] = createHash('sha256')
      .update(ids.toSorted().join('\n'))
      .digest('hex')
      .slice(0, 16);
  }
  return digest;
}

/**
 * Returns the path itself if it is a file, otherwise the files in the folder. DuckDB writes a
 * folder with several files for each partition.
 */
async function filesOf(place: string): Promise<string[]> {
  if ((await stat(place)).isFile()) return [place];
  return (await readdir(place)).map(name => path.join(place, name));
}

async function idsIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'latin1');
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const { id_str, id } = JSON.parse(line) as { id_str?: string; id: string };
      return id_str ?? id;
    });
}
