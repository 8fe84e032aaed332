// Runs several searches at the same time as one set of posts: each post once, even if several queries
// find it. Kill it and run it again: each search continues from the checkpoint.
import { account, dedupe, files, merge, pipeline, search, tap } from 'millrace';
import { createService } from 'millrace/service';

const service = createService(); // with the real service: leave this out,
const acme = account(await service.start()); // and use account(), which reads MILLRACE_*
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
