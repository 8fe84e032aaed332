import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import { request } from 'undici';
import type { Work } from '../question.js';
import { into, Received } from './received.js';

export async function run(work: Work): Promise<void> {
  const received = new Received(work);
  const headers = { 'accept-encoding': 'gzip' };
  const { body } = await request(`${work.files[0]}/replay`, { headers });
  await pipeline(body, createGunzip(), split2('\r\n'), into(received));
  await received.end();
}
