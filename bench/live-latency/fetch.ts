import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import split2 from 'split2';
import { Arrivals, parsed } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const arrivals = new Arrivals(counts);
const { body } = await fetch(`${address}/compliance`);
Readable.fromWeb(body as ReadableStream)
  .pipe(split2('\r\n'))
  .on('data', parsed(arrivals));
