import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';

const { files, out } = workerData as { files: readonly string[]; out: string };
const target = openSync(out, 'w');
for (const file of files) {
  const gzip = readFileSync(file);
  const size = gzip.readUInt32LE(gzip.length - 4);
  const plain = gunzipSync(gzip, { chunkSize: Math.max(size + 1, 64) });
  for (let at = 0; at < plain.length; ) at += writeSync(target, plain, at);
}
closeSync(target);
