import { get } from 'node:http';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import { Arrivals, parsed } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const arrivals = new Arrivals(counts);
get(`${address}/compliance`, { headers: { 'accept-encoding': 'gzip' } }, response => {
  response.pipe(createGunzip()).pipe(split2('\r\n')).on('data', parsed(arrivals));
});
