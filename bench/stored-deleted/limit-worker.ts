import { closeSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { inflatedFile } from '../inflated-file.js';

/** Node supports zstd since 22.15, but the types of Node 20 do not declare it. */
const { zstdCompressSync, constants } = zlib as unknown as {
  zstdCompressSync: (content: Buffer, options: object) => Buffer;
  constants: { ZSTD_c_checksumFlag: number };
};

const { files, out } = workerData as { files: readonly string[]; out: string };
const target = openSync(out, 'w');
for (const file of files) {
  const content = inflatedFile(file);
  const compressed = out.endsWith('.zst')
    ? zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    : zlib.gzipSync(content, { level: 6 });
  for (let at = 0; at < compressed.length; ) at += writeSync(target, compressed, at);
}
closeSync(target);
