import { firstBytes } from './regular-file.js';

/** What every version of `sinks/commit/checkpoint.ts` prints first. */
const START = /^\{\n {2}"version": \d+,\n {2}"state": "/;

/**
 * Whether a regular file that ends in `.json` is a checkpoint of a sink that writes files. It has no
 * posts, but often lies among files of posts, under any name.
 */
export async function isCheckpointFile(file: string): Promise<boolean> {
  if (!/\.json$/i.test(file)) return false;
  return START.test((await firstBytes(file, 64)).toString('latin1'));
}

const POSTS = 'json|jsonl|ndjson';
const COMPRESSED = 'gz|zst';

/** Files with one post a line, plain or compressed: `x.jsonl`, `x.json.gz`. Not `x.csv.gz`. */
export const STORED_POSTS = new RegExp(`\\.(${POSTS})(\\.(${COMPRESSED}))?$`, 'i');

/**
 * The same, and compressed files of any content. Its text is in the identity of `localFiles`: if it changes, cursors of
 * before are refused.
 */
export const STORED_FILES = new RegExp(`\\.(${COMPRESSED}|${POSTS})$`, 'i');
