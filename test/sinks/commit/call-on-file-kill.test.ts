import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import type { WrittenFile } from '../../../src/sinks/commit/run-result.js';
import { killUntilDone } from '../../kill/kill-until-done.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { PAGES, pageOf } from '../pages.js';

const KILLS = bySuite(2, 50);
const SCRIPT = path.join(import.meta.dirname, 'hand-posts-to-child.ts');
const CONCURRENCY = 3;

/** Each post once for each of its tags. */
function expected(): string[] {
  const posts = Array.from({ length: PAGES }, (_, page) => pageOf(page)).flat();
  const byId = new Map(posts.map(post => [post.id, post]));
  return [...byId.values()].flatMap(({ id, tags }) => tags.map(() => id)).toSorted();
}

async function idsOf(file: string): Promise<string[]> {
  const bytes = await readFile(file);
  if (file.endsWith('.parquet')) {
    const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
    return rows.map(({ id }) => String(id));
  }
  return bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map(line => new Activity(Buffer.from(line)).id);
}

describe('onFile in a process that is killed', () => {
  it.each(['jsonl', 'parquet'])(
    'is called for each file, and never again once its call is recorded: %s',
    async format => {
      for (let kills = 0; kills < KILLS; ) {
        const out = await temporaryFolder();
        const calls = async () => {
          const file = path.join(out, 'calls.txt');
          return existsSync(file) ? (await readFile(file, 'utf8')).trimEnd().split('\n') : [];
        };
        const recorded = async () => {
          const file = path.join(out, 'checkpoint.json');
          if (!existsSync(file)) return new Map<string, unknown>();
          const { files } = JSON.parse(await readFile(file, 'utf8'));
          return new Map(
            (files as WrittenFile[])
              .filter(({ handedOn }) => handedOn !== undefined)
              .map(({ path: name, handedOn }) => [path.relative(out, name), handedOn]),
          );
        };
        let before = 0;
        let known = new Set<string>();
        const check = async () => {
          const called = await calls();
          const again = called.slice(before).filter(name => known.has(name));
          expect(again).toEqual([]);
          known = new Set((await recorded()).keys());
          before = called.length;
          expect([...new Set(called)].filter(name => !known.has(name)).length).toBeLessThanOrEqual(
            CONCURRENCY,
          );
        };
        kills += await killUntilDone(
          { script: SCRIPT, args: [out, format] },
          { maxMs: 300, afterKill: check },
        );
        await check();
        for (const [name, handedOn] of await recorded()) expect(handedOn).toEqual({ name });
        const store = path.join(out, 'store');
        const names = (await readdir(store, { recursive: true })).filter(name =>
          name.endsWith(format),
        );
        expect(new Set(names)).toEqual(known);
        const ids = await Promise.all(names.map(name => idsOf(path.join(store, name))));
        expect(ids.flat().toSorted()).toEqual(expected());
      }
    },
  );
});
