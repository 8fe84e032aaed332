import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { spawn } from '../child-processes.js';
import { PAGES, pageOf } from './pages.js';
import { temporaryFolders } from './temporary-folder.js';

const KILLS = process.env.MILLRACE_SLOW === undefined ? 3 : 80;
const SCRIPT = path.join(import.meta.dirname, 'posts-to-tables.ts');
const temporaryFolder = temporaryFolders();

interface Row {
  readonly tag: string;
  readonly id: string;
  readonly text: string;
}

/** Each post once for each of its tags. */
function expected(): string[] {
  const pages = Array.from({ length: PAGES }, (_, page) => pageOf(page));
  const posts = new Map(pages.flat().map(post => [post.id, post]));
  return [...posts.values()]
    .flatMap(({ id, text, tags }) => tags.map(tag => print({ tag, id, text })))
    .toSorted();
}

function print({ tag, id, text }: Row): string {
  return `${tag} ${id} ${text}`;
}

/** Runs the script, and kills it the given time after its start unless it has ended by then. */
async function run(out: string, format: string, afterMs: number): Promise<'killed' | 'done'> {
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, out, format], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  child.stdout.once('data', () => sleep(afterMs).then(() => child.kill('SIGKILL')));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  if (child.signalCode === 'SIGKILL') return 'killed';
  if (code !== 0) throw new Error(`The script ended with ${code}:\n${errors}`);
  return 'done';
}

async function rowsOf(file: string): Promise<Row[]> {
  const bytes = await readFile(file);
  if (file.endsWith('.gz')) return parse(gunzipSync(bytes), { columns: true }) as Row[];
  return (await parquetReadObjects({ file: new Uint8Array(bytes).buffer })) as unknown as Row[];
}

/** The rows of all files that have their names. */
async function contentOf(out: string): Promise<string[]> {
  const names = await readdir(out, { recursive: true });
  const files = names.filter(name => /\.(csv\.gz|parquet)$/.test(name));
  const rows = await Promise.all(files.map(name => rowsOf(path.join(out, name))));
  return rows.flat().map(print).toSorted();
}

describe('a process that is killed while it writes', () => {
  it.each(['csv', 'parquet'])('%s has every row once, in complete files', async format => {
    const whole = expected();
    for (let kills = 0; kills < KILLS; ) {
      const out = await temporaryFolder();
      // Each run of a series is killed later than the one before, so that every series ends.
      for (
        let wait = 300;
        (await run(out, format, Math.random() * wait)) === 'killed';
        wait *= 1.3
      ) {
        kills++;
        const names = await readdir(out, { recursive: true });
        // A Parquet file that has its name is complete, also before the run is.
        if (format === 'parquet' && names.length > 0) await contentOf(out);
      }
      expect(await contentOf(out)).toEqual(whole);
      const names = await readdir(out, { recursive: true });
      expect(names.filter(name => name.endsWith('.part'))).toEqual([]);
    }
  });
});
