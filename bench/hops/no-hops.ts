import { pipeline } from 'millrace';
import { items, sumOf } from './items.js';

export async function run(): Promise<void> {
  await pipeline(items(), sumOf(0));
}
