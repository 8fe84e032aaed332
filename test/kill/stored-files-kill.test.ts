import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { killUntilDone, runScript } from './kill-until-done.js';

const SCRIPT = path.join(import.meta.dirname, 'stored-files-to-files.ts');
const KILLS = bySuite(1, 40);
const FILES = bySuite(30, 60);
const POSTS_PER_FILE = bySuite(1_000, 2_000);
/** Every tenth post is in two files, and every fifth has two tags. */
async function writeStored(folder: string): Promise<void> {
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from({ length: POSTS_PER_FILE }, (_, index) => {
      const id = 10n ** 17n + BigInt(file * POSTS_PER_FILE + index - (index % 10 === 0 ? 500 : 0));
      const tags = index % 5 === 0 ? ['rain', 'snow'] : [index % 2 === 0 ? 'rain' : 'snow'];
      const rules = tags.map((tag, rule) => ({ tag, id: rule, id_str: String(rule) }));
      const day = 10 + (file % 3);
      return `{"created_at":"Wed Oct ${day} 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${'é'.repeat(index % 300)}","matching_rules":${JSON.stringify(rules)}}\n`;
    });
    const name = `2018-10-${String(file).padStart(4, '0')}.json.gz`;
    await writeFile(path.join(folder, name), gzipSync(lines.join(''), { level: 1 }));
  }
}

async function contentsOf(out: string): Promise<Record<string, string>> {
  const names = (await readdir(out, { recursive: true })).filter(name => name.endsWith('.jsonl'));
  const contents: Record<string, string> = {};
  for (const name of names.sort()) contents[name] = await readFile(path.join(out, name), 'utf8');
  return contents;
}

it('stored files that worker threads write are complete, each post once, whenever the process is killed', async () => {
  const stored = await temporaryFolder();
  await writeStored(stored);
  const reference = await temporaryFolder();
  await runScript({ script: SCRIPT, args: [stored, reference, '0'] });
  const whole = await contentsOf(reference);
  expect(Object.keys(whole)).toHaveLength(6);
  // The script fails if the threads that it asks for are not started.
  await runScript({ script: SCRIPT, args: [stored, await temporaryFolder(), '2'] });
  for (let kills = 0; kills < KILLS; ) {
    const out = await temporaryFolder();
    const args = [stored, out, '2'];
    kills += await killUntilDone(
      { script: SCRIPT, args },
      { maxMs: bySuite(300, 600), growth: bySuite(2, 1.2) },
    );
    expect(await contentsOf(out)).toEqual(whole);
  }
});
