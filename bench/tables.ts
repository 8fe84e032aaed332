import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { storedCorpus } from './corpus.js';
import type { Sample, Study, Work } from './question.js';

const WRITERS = [
  ['JSON lines, gzip', 'json-lines'],
  ['CSV, all columns', 'csv'],
  ['CSV, twelve columns', 'csv-twelve'],
  ['Parquet, all columns, snappy', 'parquet'],
  ['Parquet, all columns, gzip', 'parquet-gzip'],
  ['Parquet, twelve columns', 'parquet-twelve'],
  ['DuckDB to Parquet, twelve columns, two threads', 'duckdb'],
] as const;

interface Asked {
  readonly seconds: number;
  readonly posts: number;
  readonly followers: number;
}

/** Stored posts as rows: what it costs to write them, how large they are, and what a query over them costs. */
export const tables: Study = {
  name: 'tables',
  title: 'Stored posts to CSV and Parquet, and a query over each',
  async run({ quick, places }) {
    const { files, posts, bytes } = await storedCorpus({ files: quick ? 24 : 144 });
    const rows: string[] = [];
    const limit = await child<Sample>('child.js', path.join('tables', 'inflate.js'), {
      ...{ files, out: places.scratch, posts, compared: false },
    });
    const answers = new Set<string>();
    for (const [name, writer] of WRITERS) {
      const out = path.join(places.scratch, `tables-${writer}`);
      await rm(out, { recursive: true, force: true });
      await mkdir(out, { recursive: true });
      const work: Work = { files, out, posts, compared: false };
      const written = await child<Sample>('child.js', path.join('tables', `${writer}.js`), work);
      const asked = await child<Asked>(path.join('tables', 'query.js'), writer, work);
      answers.add(JSON.stringify([asked.posts, asked.followers]));
      const cells = [
        name,
        Math.round(posts / written.seconds).toLocaleString('en'),
        written.peakMegabytes.toFixed(0),
        ((await sizeOf(out)) / 1e6).toFixed(1),
        (asked.seconds * 1000).toFixed(0),
      ];
      rows.push(`| ${cells.join(' | ')} |`);
      await rm(out, { recursive: true, force: true });
    }
    if (answers.size !== 1) throw new Error(`The answers differ: ${[...answers].join(' ')}`);
    return {
      markdown: [
        `${files.length} gzip files, ${posts.toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON, one run each. To inflate`,
        `them in two threads, and no more, makes ${Math.round(posts / limit.seconds).toLocaleString('en')} posts/s: the limit of each writer. The query,`,
        'by DuckDB, asks for posts and mean followers by language, best of three; all answers are the same.',
        '',
        '| | posts/s | peak MiB | MB | query, ms |',
        '| --- | ---: | ---: | ---: | ---: |',
        ...rows,
        '',
      ].join('\n'),
      charts: [],
    };
  },
};

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(
    async name => (await stat(path.join(folder, name))).size,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const run = promisify(execFile);

/** A script in a process of its own, which gets its work on stdin and prints what it measured. */
async function child<T>(script: string, argument: string, work: Work): Promise<T> {
  const here = (name: string) => path.join(import.meta.dirname, name);
  const running = run(process.execPath, [
    here(script),
    argument.endsWith('.js') ? here(argument) : argument,
  ]);
  running.child.stdin?.end(JSON.stringify(work));
  return JSON.parse((await running).stdout) as T;
}
