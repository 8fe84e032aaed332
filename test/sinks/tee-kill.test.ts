import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Activity } from '../../src/post/activity.js';
import { killUntilDone } from '../kill/kill-until-done.js';
import { bySuite, isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { isLong, PAGES, pageOf } from './pages.js';

const KILLS = bySuite(1, 50);
const SCRIPT = path.join(import.meta.dirname, 'pages-to-branches.ts');
const ROWS = path.join(import.meta.dirname, 'pages-to-rows.ts');
const all = Array.from({ length: PAGES }, (_, page) => pageOf(page)).flat();
const once = [...new Map(all.map(post => [post.id, post])).values()];
const linesOf = (posts: readonly Activity[]) => posts.map(({ raw }) => `${raw}\n`).join('');

/** What each branch writes: everything, the tags, a table, and ids in sevens. */
function expected(): Record<string, string> {
  const tags = [...new Set(once.flatMap(({ tags }) => tags))];
  return {
    'raw.jsonl.gz': linesOf(all),
    ...Object.fromEntries(
      tags.map(tag => [tag, linesOf(once.filter(({ tags }) => tags.includes(tag)))]),
    ),
    'long.csv': ['id', ...once.filter(isLong).map(({ id }) => id), ''].join('\n'),
    sevens: `${all.map(({ id }) => id).join()}\n`,
  };
}

async function contentOf(out: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const name of (await readdir(out)).sort()) {
    if (name === 'checkpoint.json') continue;
    expect(name).not.toMatch(/\.part/);
    const bytes = await readFile(path.join(out, name));
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    const branch = decodeURIComponent(name.replace(/\.\d{4}\.jsonl$/, ''));
    content[branch] = (content[branch] ?? '') + text;
  }
  // A chunk may be cut short, so that a cursor comes through.
  content.sevens = content.sevens?.trim().replaceAll('\n', ',').concat('\n') ?? '';
  content['long.csv'] = content['long.csv']?.replaceAll('\r\n', '\n').replaceAll('"', '') ?? '';
  return content;
}

/** What is in the files and in the database. */
async function storedIn(out: string) {
  const names = (await readdir(out)).filter(name => !name.startsWith('rows.sqlite')).toSorted();
  const days = names.filter(name => name !== 'raw.jsonl.gz');
  for (const name of days) expect(name).toMatch(/^\d{4}-\d\d-\d\d(\.\d{4})?\.jsonl$/);
  const long = await Promise.all(days.map(name => readFile(path.join(out, name), 'utf8')));
  const db = new Database(path.join(out, 'rows.sqlite'));
  try {
    const rows = db.prepare('SELECT id, text FROM posts ORDER BY rowid').all();
    const raw = gunzipSync(await readFile(path.join(out, 'raw.jsonl.gz'))).toString();
    return { raw, long: long.join(''), rows };
  } finally {
    db.close();
  }
}

describe('tee in a process that is killed', () => {
  const commits = [
    ['now and then', 20],
    ['at each cursor', 0],
  ] as const;
  it.each(isNightly ? commits : commits.slice(0, 1))(
    'gives each branch every item exactly once: commits %s',
    async (_, everyMs) => {
      const whole = expected();
      for (let kills = 0; kills < KILLS; ) {
        const out = await temporaryFolder();
        kills += await killUntilDone(
          { script: SCRIPT, args: [out, String(everyMs)] },
          { maxMs: 300 },
        );
        expect(await contentOf(out)).toEqual(whole);
      }
    },
  );

  it.each(isNightly ? commits : commits.slice(0, 1))(
    'gives files and a database every item exactly once: commits %s',
    async (_, everyMs) => {
      for (let kills = 0; kills < KILLS; ) {
        const out = await temporaryFolder();
        const script = { script: ROWS, args: [out, String(everyMs)] };
        kills += await killUntilDone(script, { maxMs: 300 });
        expect(await storedIn(out)).toEqual({
          raw: linesOf(all),
          long: linesOf(all.filter(isLong)),
          rows: once.map(({ id, text }) => ({ id, text })),
        });
      }
    },
  );
});
