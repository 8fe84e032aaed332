import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import { request } from 'undici';
import { Arrivals, parsed } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const arrivals = new Arrivals(counts);
const headers = { 'accept-encoding': 'gzip' };
const { body } = await request(`${address}/compliance`, { headers });
body.pipe(createGunzip()).pipe(split2('\r\n')).on('data', parsed(arrivals));
