// Records posts of the account once and then serves them on this machine. The same script returns
// the same posts, without requests that count. If MILLRACE_BASE_URL or MILLRACE_URL is set, it
// records there, otherwise from a local service.
import { existsSync } from 'node:fs';
import { type Account, account, collect, dedupe, files, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

const window = { fromDate: '202401010000', toDate: '202401020000' };
const coffee = (acme: Account) => search(acme, { product: 'fullarchive', query: 'coffee lang:en', ...window });

if (!existsSync('out/recorded.json')) {
  const real = process.env.MILLRACE_BASE_URL || process.env.MILLRACE_URL ? undefined : createService();
  const sink = files({ path: 'out/recorded/{day}.jsonl.gz', checkpoint: 'out/recorded.json' });
  const { posts } = await pipeline(coffee(account(await real?.start())), dedupe(), sink);
  console.log(`${posts} posts recorded in out/recorded`);
  await real?.stop();
}

await using recorded = createService({ archive: 'out/recorded' });
const posts = await pipeline(coffee(account(await recorded.start())), dedupe(), collect());
console.log(`${posts.length} posts from the recording`);
