import { firstBytes } from './first-bytes.js';

/** What every version of `sinks/output/checkpoint-format.ts` prints first. */
const START = /^\{\n {2}"version": \d+,\n {2}"state": "/;

/**
 * Whether a regular file that ends in `.json` is a checkpoint of a sink that writes files. It has no
 * posts, but often lies among files of posts, under any name.
 */
export async function isCheckpointFile(file: string): Promise<boolean> {
  if (!/\.json$/i.test(file)) return false;
  return START.test((await firstBytes(file, 64)).toString('latin1'));
}
