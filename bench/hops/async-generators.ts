import { HOPS } from '../hops.js';
import { addOne, expectSum, type Item, items } from './items.js';

async function* mapItems(input: AsyncIterable<Item>): AsyncIterable<Item> {
  for await (const item of input) yield addOne(item);
}

export async function run(): Promise<void> {
  let flow: AsyncIterable<Item> = items();
  for (let hop = 0; hop < HOPS; hop++) flow = mapItems(flow);
  let sum = 0;
  for await (const item of flow) sum += item.value;
  expectSum(sum, HOPS);
}
