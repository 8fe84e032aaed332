import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { HOPS } from '../hops.js';
import { addOne, expectSum, type Item, items } from './items.js';

export async function run(): Promise<void> {
  let sum = 0;
  const maps = Array.from(
    { length: HOPS },
    () =>
      new Transform({
        objectMode: true,
        transform: (item: Item, _, done) => done(null, addOne(item)),
      }),
  );
  const sink = new Writable({
    objectMode: true,
    write(item: Item, _, done) {
      sum += item.value;
      done();
    },
  });
  await pipeline([Readable.from(items()), ...maps, sink]);
  expectSum(sum, HOPS);
}
