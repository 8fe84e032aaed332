import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import { stream } from 'undici';
import { Arrivals, parsed } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const arrivals = new Arrivals(counts);
const gunzip = createGunzip();
gunzip.pipe(split2('\r\n')).on('data', parsed(arrivals));
const headers = { 'accept-encoding': 'gzip' };
await stream(`${address}/compliance`, { method: 'GET', headers }, () => gunzip);
