import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FilesOptions } from '../../src/sinks/files.js';
import { killUntilDone } from '../kill/kill-until-done.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { PAGES, pageOf } from './pages.js';

const KILLS = bySuite(1, 50);
const SCRIPT = path.join(import.meta.dirname, 'posts-to-files.ts');
/** The expected files of each tag's folder. */
function expected(): Record<string, string> {
  const lines: Record<string, string[]> = {};
  const seen = new Set<string>();
  for (let page = 0; page < PAGES; page++)
    for (const activity of pageOf(page)) {
      if (seen.has(activity.id)) continue;
      seen.add(activity.id);
      for (const tag of activity.tags) {
        lines[tag] ??= [];
        lines[tag].push(`${activity.raw}\n`);
      }
    }
  return Object.fromEntries(Object.entries(lines).map(([tag, tagged]) => [tag, tagged.join('')]));
}

async function contentOf(out: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const folder of (await readdir(out)).filter(name => name !== 'checkpoint.json')) {
    const parts: string[] = [];
    for (const name of (await readdir(path.join(out, folder))).sort()) {
      expect(name).toMatch(/\.jsonl(\.gz)?$/);
      const bytes = await readFile(path.join(out, folder, name));
      parts.push((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
    }
    content[decodeURIComponent(folder)] = parts.join('');
  }
  return content;
}

type Options = Partial<FilesOptions<unknown>>;

describe('files in a process that is killed', () => {
  it.each([
    ['commits at every cursor', { commitIntervalMs: 0 }],
    [
      'commits now and then, in numbered gzip files',
      { commitIntervalMs: 20, gzip: true, maxBytes: 60_000 },
    ],
    ['commits beside its work, with two open files', { commitIntervalMs: 5, maxOpen: 2 }],
  ] satisfies [string, Options][])(
    'have every activity exactly once, in complete lines: %s',
    async (_, options) => {
      const whole = expected();
      for (let kills = 0; kills < KILLS; ) {
        const out = await temporaryFolder();
        const args = [out, JSON.stringify(options)];
        kills += await killUntilDone({ script: SCRIPT, args }, { maxMs: 300 });
        expect(await contentOf(out)).toEqual(whole);
      }
    },
  );
});
