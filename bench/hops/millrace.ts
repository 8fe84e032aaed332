import { map, pipeline } from 'millrace';
import { HOPS } from '../hops.js';
import { addOne, items, sumOf } from './items.js';

export async function run(): Promise<void> {
  await pipeline(
    items(),
    map(addOne),
    map(addOne),
    map(addOne),
    map(addOne),
    map(addOne),
    sumOf(HOPS),
  );
}
