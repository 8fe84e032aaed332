import { expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { POST_KEYS, type PostKey } from '../../src/post/post-keys.js';
import { post } from '../sinks/posts.js';
import { minimal } from './minimal-post.js';

const at = Date.UTC(2024, 11, 31, 23, 47, 12);
const activity = post({ id: '9007199254740993', at, lang: 'de', author: 'Ada' });

it.each<[PostKey, string | number]>([
  ['author', 'Ada'],
  ['day', Date.UTC(2024, 11, 31)],
  ['format', 'original'],
  ['hour', Date.UTC(2024, 11, 31, 23)],
  ['id', '9007199254740993'],
  ['lang', 'de'],
  ['minute', Date.UTC(2024, 11, 31, 23, 47)],
  ['month', 2024 * 12 + 11],
  ['segment', Date.UTC(2024, 11, 31, 23, 40)],
])('the %s of a post is read as %j', (key, value) => {
  expect(POST_KEYS[key](activity)).toBe(value);
});

it('the lang of a post without a language is `und`', () => {
  expect(POST_KEYS.lang(post({ id: '1', at }))).toBe('und');
});

it.each(['author', 'day', 'hour', 'id', 'minute', 'month', 'segment'] as const)(
  'reading the %s of a post that does not contain it throws a DataError',
  key => {
    expect(() => POST_KEYS[key](minimal({ created_at: '' }))).toThrow(DataError);
  },
);
