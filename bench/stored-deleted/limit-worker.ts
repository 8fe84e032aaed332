import { closeSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { inflatedFile } from '../inflated-file.js';

const { files, out } = workerData as { files: readonly string[]; out: string };
const target = openSync(out, 'w');
for (const file of files) {
  const gzip = gzipSync(inflatedFile(file), { level: 6 });
  for (let at = 0; at < gzip.length; ) at += writeSync(target, gzip, at);
}
closeSync(target);
