import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { MemoryArchive } from '../memory-archive.js';
import { ALWAYS, archivedPost, archiveFolders, scanAll } from './archive-folder.js';

const folder = process.env.MILLRACE_REAL_DATA;
const folders = archiveFolders();

describe.skipIf(folder === undefined)('real posts (needs MILLRACE_REAL_DATA)', () => {
  test.each(['original', 'activity_streams'] as const)(
    'in the format %s are served unchanged and found by any word',
    async format => {
      const source = path.join(folder as string, 'posts');
      const files: Record<string, Buffer> = {};
      for (const name of await readdir(source))
        files[name] = await readFile(path.join(source, name));
      const archive = await folders.open(await folders.make(files), { format });

      const lines = Object.values(files).flatMap(file => file.toString().split('\n'));
      const activities = lines
        .filter(line => line !== '')
        .map(line => new Activity(Buffer.from(line)));
      const mine = activities.filter(activity => activity.format === format);
      const distinct = [
        ...new Map(mine.toReversed().map(activity => [activity.id, activity])).values(),
      ];
      const truth = new MemoryArchive(distinct.map(archivedPost), format);
      expect(truth.posts.length).toBeGreaterThan(20);
      expect((await scanAll(archive)).map(({ id }) => id)).toEqual(
        truth.posts.toReversed().map(({ id }) => id),
      );
      const raws = new Set(mine.map(activity => activity.raw.toString()));
      for (const { activity } of await scanAll(archive))
        expect(raws.has(activity.raw.toString())).toBe(true);

      const words = new Set(
        truth.posts.flatMap(({ activity }) => activity.text.split(/[^\p{L}\p{N}]+/u)),
      );
      for (const word of [...words].filter(word => word.length > 1).slice(0, 200))
        for (const text of [
          `"${word}"`,
          `${word} -has:links`,
          `#${word} OR "${word} a" OR has:media from:${word}`,
        ]) {
          const { tree } = parseRule(text);
          if (tree === undefined) continue;
          const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
          const { posts } = await archive.search(rule, ALWAYS, { limit: 500 });
          expect(
            posts.map(({ id }) => id),
            text,
          ).toEqual(truth.matches(rule, ALWAYS).map(({ id }) => id));
        }
    },
  );
});
