import { account, replay } from 'millrace';
import { Ids } from '../jobs/ids.js';
import type { Work } from '../question.js';

const MINUTE = 60_000;

/** All of the stream in one connection, whatever its window. */
export async function replayed({ files, out }: Work, maxMemory?: number): Promise<void> {
  const acme = account({
    ...{ replayStreamUrl: files[0], account: 'bench', publisher: 'twitter', streamLabel: 'bench' },
    ...{ email: 'bench@example.com', password: 'bench', limits: { replay: [] } },
  });
  const to = Math.floor(Date.now() / MINUTE) * MINUTE - 60 * MINUTE;
  const ids = new Ids();
  const posts = replay(acme, {
    streamType: 'firehose',
    fromDate: new Date(to - 16 * MINUTE),
    toDate: new Date(to),
    folder: out,
    maxMemory,
  });
  for await (const { items } of posts.batches()) for (const post of items) ids.add(post.id);
  await ids.write(out);
}
