import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import { stream } from 'undici';
import type { Work } from '../question.js';
import { into, Received } from './received.js';

export async function run(work: Work): Promise<void> {
  const received = new Received(work);
  const gunzip = createGunzip();
  const done = pipeline(gunzip, split2('\r\n'), into(received));
  const headers = { 'accept-encoding': 'gzip' };
  await stream(`${work.files[0]}/replay`, { method: 'GET', headers }, () => gunzip);
  await done;
  await received.end();
}
