import { get } from 'node:http';
import { constants, createGunzip } from 'node:zlib';
import split2 from 'split2';
import { Latencies } from './latencies.js';

const [address, messages] = process.argv.slice(2);
const latencies = new Latencies(Number(messages));
get(`${address}/compliance`, { headers: { 'accept-encoding': 'gzip' } }, response => {
  response
    .pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH }))
    .pipe(split2('\r\n', text => (text === '' ? undefined : JSON.parse(text))))
    .on('data', ({ sent }: { sent: number }) => latencies.add(sent));
});
