import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FilesOptions } from '../../../src/sinks/files.js';
import { spawn } from '../../child-processes.js';
import { PAGES, pageOf } from '../pages.js';
import { temporaryFolders } from '../temporary-folder.js';

const SLOW = process.env.MILLRACE_SLOW !== undefined;
const SCRIPT = path.join(import.meta.dirname, 'posts-to-files.ts');
const temporaryFolder = temporaryFolders();

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
  return Object.fromEntries(Object.entries(lines).map(([tag, own]) => [tag, own.join('')]));
}

/** Runs the script, and kills it the given time after its start unless it has ended by then. */
async function run(out: string, options: object, afterMs: number): Promise<'killed' | 'done'> {
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, out, JSON.stringify(options)], {
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
      const least = SLOW ? 80 : 2;
      let kills = 0;
      while (kills < least) {
        const out = await temporaryFolder();
        // Each run of a series is killed later than the one before, so that every series ends.
        for (
          let wait = 300;
          (await run(out, options, Math.random() * wait)) === 'killed';
          wait *= 1.3
        )
          kills++;
        expect(await contentOf(out)).toEqual(whole);
      }
    },
    SLOW ? 900_000 : 60_000,
  );
});
