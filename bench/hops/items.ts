import { Flow, type Sink } from 'millrace';
import { ITEMS } from '../hops.js';

export interface Item {
  value: number;
}

const BATCH = 500;

export function items(): Flow<Item> {
  return new Flow(async function* () {
    for (let first = 0; first < ITEMS; first += BATCH) {
      const batch: Item[] = [];
      for (let index = 0; index < BATCH; index++) batch.push({ value: first + index });
      yield { items: batch };
    }
  });
}

export function addOne(item: Item): Item {
  item.value++;
  return item;
}

export function expectSum(sum: number, hops: number): void {
  const expected = (ITEMS * (ITEMS - 1)) / 2 + hops * ITEMS;
  if (sum !== expected) throw new Error(`Expected a sum of ${expected}, got ${sum}`);
}

/** Adds up the items. Reads them in batches, as the built-in sinks do. */
export function sumOf(hops: number): Sink<Item> {
  return async input => {
    let sum = 0;
    for await (const { items: batch } of (input as Flow<Item>).batches())
      for (const item of batch) sum += item.value;
    expectSum(sum, hops);
  };
}
