import { account, replay } from 'millrace';
import type { Work } from '../question.js';
import { Received } from './received.js';

const MINUTE = 60_000;

/** Reads the whole stream in one connection, however long its time window is. */
export async function run(work: Work): Promise<void> {
  const acme = account({
    replayStreamUrl: work.files[0],
    account: 'bench',
    publisher: 'twitter',
    streamLabel: 'bench',
    email: 'bench@example.com',
    password: 'bench',
    limits: { replay: [] },
  });
  const to = Math.floor(Date.now() / MINUTE) * MINUTE - 60 * MINUTE;
  const received = new Received(work);
  const posts = replay(acme, {
    streamType: 'firehose',
    fromDate: new Date(to - 16 * MINUTE),
    toDate: new Date(to),
    folder: work.out,
  });
  for await (const { items } of posts.batches()) for (const post of items) received.add(post.raw);
  await received.end();
}
