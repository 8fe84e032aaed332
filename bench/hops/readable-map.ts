import { Readable } from 'node:stream';
import { HOPS } from '../hops.js';
import { addOne, expectSum, items } from './items.js';

export async function run(): Promise<void> {
  let stream = Readable.from(items());
  for (let hop = 0; hop < HOPS; hop++) stream = stream.map(addOne);
  let sum = 0;
  for await (const item of stream) sum += item.value;
  expectSum(sum, HOPS);
}
