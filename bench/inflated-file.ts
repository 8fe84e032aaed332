import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** What a gzip file holds, inflated in one call on this thread: the fastest that one is. */
export function inflatedFile(file: string): Buffer {
  const gzip = readFileSync(file);
  const size = gzip.readUInt32LE(gzip.length - 4);
  return gunzipSync(gzip, { chunkSize: Math.max(size + 1, 64) });
}
