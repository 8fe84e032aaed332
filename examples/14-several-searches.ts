// Runs several searches concurrently as one set of posts. Each post occurs once, even if several
// queries find it. If you kill the script and run it again, each search continues from the
// checkpoint.
import { account, dedupe, files, merge, pipeline, search, tap } from 'millrace';
import { createService } from 'millrace/service';

const service = createService(); // only for the local service
const acme = account(await service.start()); // for the real service: account(), which reads MILLRACE_*
const queries = ['coffee', 'rain', '(coffee OR rain) lang:en'];
let found = 0;
const { posts } = await pipeline(
  merge(...queries.map(query => search(acme, { product: '30day', query, limit: 2_000 }))),
  tap(() => found++),
  dedupe(),
  files({ path: 'out/searches/{day}.jsonl', checkpoint: 'out/searches/checkpoint.json' }),
);
console.log(`${posts} posts, of ${found} found by ${queries.length} searches in this run`);
await service.stop();
