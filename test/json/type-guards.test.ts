import { expect, it } from 'vitest';
import { isCount, isText, isTexts, listOf, optional, shaped } from '../../src/json/type-guards.js';

const isPost = shaped<{ id: string; likes: number; tags: readonly string[]; lang?: string }>({
  id: isText,
  likes: isCount,
  tags: isTexts,
  lang: optional(isText),
});

it.each([
  [{ id: '1', likes: 0, tags: [] }],
  [{ id: '1', likes: 2, tags: ['a'], lang: 'en', more: null }],
])('shaped accepts %j', value => {
  expect(isPost(value)).toBe(true);
  expect(listOf(isPost)([value, value])).toBe(true);
});

it.each([
  [null],
  [[]],
  ['text'],
  [{ id: '1', likes: 0 }],
  [{ id: 1, likes: 0, tags: [] }],
  [{ id: '1', likes: -1, tags: [] }],
  [{ id: '1', likes: 2 ** 53, tags: [] }],
  [{ id: '1', likes: 0, tags: [1] }],
  [{ id: '1', likes: 0, tags: [], lang: null }],
])('shaped refuses %j, which lacks a member or has one of another type', value => {
  expect(isPost(value)).toBe(false);
  expect(listOf(isPost)([value])).toBe(false);
});
