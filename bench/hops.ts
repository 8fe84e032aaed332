import type { Question } from './question.js';

export const ITEMS = 1_000_000;
export const HOPS = 5;

export const hops: Question = {
  name: 'hops',
  title: 'Hops: five trivial operators over a million items',
  async prepare() {
    return {
      files: [],
      bytes: 0,
      posts: ITEMS,
      note: 'Objects in batches of 500, each operator adds one to a field. `source and sink` has no operator at all.',
    };
  },
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'source and sink', module: 'no-hops', limit: true },
    { name: 'async generators, an item at a time', module: 'async-generators' },
    { name: 'node:stream Transforms', module: 'transforms' },
    { name: 'Readable.map', module: 'readable-map', slow: true },
  ],
};
