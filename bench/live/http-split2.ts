import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import type { Work } from '../question.js';
import { into, Received } from './received.js';

export async function run(work: Work): Promise<void> {
  const received = new Received(work);
  const request = get(`${work.files[0]}/replay`, { headers: { 'accept-encoding': 'gzip' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await pipeline(response, createGunzip(), split2('\r\n'), into(received));
  await received.end();
}
