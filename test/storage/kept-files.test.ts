import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { KEPT } from '../faults/disks/all-kept-files.js';
import { namesIn, pageNamed, root, tableOf } from '../pages.js';

const SRC = path.join(root, 'src');
const page = pageNamed('src/storage/README.md');
const kept = tableOf(page, 'Files', 'What');
const temporary = tableOf(page, 'Temporary files', 'What');

/**
 * Matches the functions of Node that write files, except for `open`, which can also open a file for
 * reading.
 */
const WRITES =
  /^(appendFile|copyFile|cp|createWriteStream|mkdir|mkdtemp|rename|rm|rmdir|symlink|link|truncate|unlink|utimes|writeFile|writev?)(Sync)?$/;
/** Matches the functions in `src/storage` that write files. */
const OURS =
  /^(replaceFile|replaceFileOn|takeLock|SpoolFile|LineLog|LmdbDatabase|openNew|openExisting|writeAll|makeFolder|makeSyncedFolder|syncFolder)$/;

function writes(text: string): boolean {
  for (const [, names = '', from = ''] of text.matchAll(
    /^import (?:type )?\{([^}]*)\} from '([^']+)'/gm,
  )) {
    const imported = names.split(',').map(name => name.trim());
    if (from.startsWith('node:fs') && imported.some(name => WRITES.test(name))) return true;
    if (from.startsWith('node:fs') && imported.includes('open') && opensToWrite(text)) return true;
    if (from.includes('/storage/') && imported.some(name => OURS.test(name))) return true;
  }
  return /from 'node:fs(\/promises)?'/.test(text) && /import \* as \w+ from 'node:fs/.test(text);
}

function opensToWrite(text: string): boolean {
  const modes = [...text.matchAll(/\bawait open\(([^;]*)\);/g)].map(([, given = '']) => given);
  return modes.some(given => given.includes(',') && !/, 'r'$/.test(given));
}

const writers = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => name.endsWith('.ts') && !name.startsWith('storage/'))
  .filter(name => writes(readFileSync(path.join(SRC, name), 'utf8')));

const sourcesIn = (cell: string | undefined) => namesIn(cell).filter(name => name.endsWith('.ts'));

describe('the page src/storage/README.md', () => {
  it('lists exactly the source files that write files', () => {
    const named = [
      ...kept.flatMap(row => sourcesIn(row[3])),
      ...temporary.flatMap(row => sourcesIn(row[1])),
    ];
    expect(writers.length).toBeGreaterThan(15);
    expect([...new Set(named)].toSorted()).toEqual(writers.toSorted());
  });

  it('names the test on the simulated disk for each kind of stored file', () => {
    expect(kept.flatMap(row => namesIn(row[4])).toSorted()).toEqual([...KEPT.keys()].toSorted());
    for (const row of kept) if (namesIn(row[4]).length === 0) expect(row[4]).toMatch(/\(#lmdb\)/);
  });

  it('is checked by code that recognizes every way to write a file in the sources', () => {
    for (const text of [
      "import { writeFile } from 'node:fs/promises';",
      "import { createWriteStream } from 'node:fs';",
      "import { open } from 'node:fs/promises';\nconst file = await open(name, 'a');",
      "import { replaceFile } from '../../src/storage/replace-file.js';",
      "import { type FileSystem, writeAll } from '../../src/storage/file-system.js';",
      "import * as node from 'node:fs/promises';",
    ])
      expect(writes(text), text).toBe(true);
    expect(writes("import { open } from 'node:fs/promises';\nawait open(name, 'r');")).toBe(false);
  });
});
