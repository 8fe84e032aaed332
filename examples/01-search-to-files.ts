// Writes posts about coffee or rain to one compressed file per day, each post once. If you kill the
// script and run it again, it continues from the checkpoint.
import { account, dedupe, files, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

const service = createService(); // only for the local service
const acme = account(await service.start()); // for the real service: account(), which reads MILLRACE_*
const { posts, files: days } = await pipeline(
  search(acme, { product: '30day', query: 'coffee OR rain', limit: 5_000 }),
  dedupe(),
  files({ path: 'out/search/{day}.jsonl.gz', checkpoint: 'out/search/checkpoint.json' }),
  { progress: 'auto' },
);
console.log(`${posts} posts in ${days.length} files`);
await service.stop();
