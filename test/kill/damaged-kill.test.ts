import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { keptIn } from '../sinks/damaged.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { killUntilDone } from './kill-until-done.js';

const SCRIPT = path.join(import.meta.dirname, 'damaged-to-files.ts');
const KILLS = bySuite(2, 40);
const FILES = 40;
const LINES = 200;

/** A good post, or one of: no object, bytes that are no UTF-8, no id, no time for the column. */
function lineOf(file: number, index: number): { readonly line: Buffer; readonly isKept: boolean } {
  const id = 10n ** 17n + BigInt(file * LINES + index);
  const kinds = [
    Buffer.from(`cut off ${id}`),
    Buffer.from([0x7b, 0xff, ...Buffer.from(String(id)), 0xfe]),
    Buffer.from(`{"text":"${id}"}`),
    Buffer.from(`{"id":${id},"id_str":"${id}","created_at":"never"}`),
    // The same bytes in many places.
    Buffer.from('null'),
  ];
  const kind = index % 7 === 3 ? kinds[(file + index) % kinds.length] : undefined;
  const post = `{"id":${id},"id_str":"${id}","created_at":"Wed Oct 10 20:19:24 +0000 2018"}`;
  return { line: kind ?? Buffer.from(post), isKept: kind !== undefined };
}

async function writeStored(folder: string): Promise<string[]> {
  const kept: string[] = [];
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from({ length: LINES }, (_, index) => lineOf(file, index));
    for (const { line, isKept } of lines) if (isKept) kept.push(line.toString('latin1'));
    const bytes = Buffer.concat(lines.flatMap(({ line }) => [line, Buffer.from('\n')]));
    await writeFile(path.join(folder, `${100 + file}.json.gz`), gzipSync(bytes));
  }
  return kept.toSorted();
}

it('damaged records are kept once each, whenever the process is killed', async () => {
  const stored = await temporaryFolder();
  const kept = await writeStored(stored);
  expect(kept.length).toBeGreaterThan(1_000);
  for (let kills = 0; kills < KILLS; ) {
    const out = await temporaryFolder();
    kills += await killUntilDone(
      { script: SCRIPT, args: [stored, out] },
      { maxMs: 300, growth: bySuite(1.5, 1.2) },
    );
    expect(keptIn(await readFile(path.join(out, 'damaged.jsonl'), 'utf8'))).toEqual(kept);
    // Those without a time are posts, which have a line; the table cannot have them.
    const untimed = kept.filter(text => text.includes('"never"')).length;
    const rows = FILES * LINES - kept.length;
    const linesOf = async (name: string) =>
      (await readFile(path.join(out, name), 'utf8')).split('\n').length - 1;
    expect(await linesOf('posts.jsonl')).toBe(rows + untimed);
    expect(await linesOf('posts.csv')).toBe(rows + 1);
  }
});
