import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { killUntilDone } from '../kill/kill-until-done.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { PAGES, pageOf } from './pages.js';

const KILLS = bySuite(1, 50);
const SCRIPT = path.join(import.meta.dirname, 'posts-to-tables.ts');
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

async function rowsOf(file: string): Promise<Row[]> {
  const bytes = await readFile(file);
  if (file.endsWith('.gz')) return parse(gunzipSync(bytes), { columns: true }) as Row[];
  return unchecked<Row[]>(await parquetReadObjects({ file: new Uint8Array(bytes).buffer }));
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
      const afterKill = async () => {
        const names = await readdir(out, { recursive: true });
        // A Parquet file that has its name is complete, also before the run is.
        if (format === 'parquet' && names.length > 0) await contentOf(out);
      };
      kills += await killUntilDone(
        { script: SCRIPT, args: [out, format] },
        { maxMs: 300, afterKill },
      );
      expect(await contentOf(out)).toEqual(whole);
      const names = await readdir(out, { recursive: true });
      expect(names.filter(name => name.endsWith('.part'))).toEqual([]);
    }
  });
});
