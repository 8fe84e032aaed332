import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import split2 from 'split2';
import type { Work } from '../question.js';
import { into, Received } from './received.js';

export async function run(work: Work): Promise<void> {
  const received = new Received(work);
  const { body } = await fetch(`${work.files[0]}/replay`);
  await pipeline(Readable.fromWeb(body as ReadableStream), split2('\r\n'), into(received));
  await received.end();
}
