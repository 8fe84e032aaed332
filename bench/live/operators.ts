import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { activities, gunzip, jsonLines } from 'millrace';
import type { Work } from '../question.js';
import { Received } from './received.js';

export async function run(work: Work): Promise<void> {
  const received = new Received(work);
  const request = get(`${work.files[0]}/replay`, { headers: { 'accept-encoding': 'gzip' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const posts = activities()(jsonLines({ separator: '\r\n' })(gunzip()(response)));
  for await (const { items } of posts.batches()) for (const post of items) received.add(post.raw);
  await received.end();
}
