import { describe, expect, it } from 'vitest';
import { FileRecords } from '../../../src/files/file-records.js';
import { POSTS } from '../../../src/operators/activities.js';
import { PATH_KEYS, pathKeys } from '../../../src/sinks/write/path-keys.js';
import { post } from '../posts.js';

function rowsOf(langs: readonly string[]): FileRecords {
  const posts = langs.map((lang, id) => post({ id: `${id}`, lang }).raw);
  const rows = new FileRecords(Buffer.concat(posts), POSTS, posts.length);
  let start = 0;
  for (const { length } of posts) {
    rows.add(start, length);
    start += length;
  }
  return rows;
}

describe('the combinations of path fields of stored posts', () => {
  const { kind, options } = pathKeys(['lang', 'format']);
  const read = (langs: readonly string[]) => kind.create(options)(rowsOf(langs));

  it('contain each combination once, with its index for each post', () => {
    const { indexes, sets } = read(['de', 'en', 'de']);
    expect(sets).toEqual([
      ['de', 'original'],
      ['en', 'original'],
    ]);
    expect([...indexes]).toEqual([0, 1, 0]);
  });

  it('contain the combination of a replaced post, even if that combination is new', () => {
    const keys = read(['de', 'en', 'de']);
    PATH_KEYS.replace?.(keys, 0, post({ id: '1', lang: 'en' }));
    PATH_KEYS.replace?.(keys, 2, post({ id: '2', lang: 'fr' }));
    expect(keys.sets[2]).toEqual(['fr', 'original']);
    expect([...keys.indexes]).toEqual([1, 1, 2]);
  });

  it('consist of one empty combination for a path without fields', () => {
    const { sets, indexes } = PATH_KEYS.create([])(rowsOf(['de', 'en']));
    expect(sets).toEqual([[]]);
    expect([...indexes]).toEqual([0, 0]);
  });
});
