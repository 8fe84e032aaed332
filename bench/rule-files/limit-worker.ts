import { closeSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { inflatedFile } from '../inflated-file.js';

const { files, out } = workerData as { files: readonly string[]; out: string };
const target = openSync(out, 'w');
for (const file of files) {
  const plain = inflatedFile(file);
  for (let start = 0; start < plain.length; ) {
    const end = plain.indexOf(0x0a, start);
    JSON.parse(plain.toString('utf8', start, end));
    start = end + 1;
  }
  for (let at = 0; at < plain.length; ) at += writeSync(target, plain, at);
}
closeSync(target);
