import { constants, createGunzip } from 'node:zlib';
import split2 from 'split2';
import { stream } from 'undici';
import { Latencies } from './latencies.js';

const [address, messages] = process.argv.slice(2);
const latencies = new Latencies(Number(messages));
const gunzip = createGunzip({ flush: constants.Z_SYNC_FLUSH });
const lines = gunzip.pipe(split2('\r\n', text => (text === '' ? undefined : JSON.parse(text))));
lines.on('data', ({ sent }: { sent: number }) => latencies.add(sent));
const headers = { 'accept-encoding': 'gzip' };
await stream(`${address}/compliance`, { method: 'GET', headers }, () => gunzip);
