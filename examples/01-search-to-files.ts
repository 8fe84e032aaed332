// Every post of the last days that speaks of coffee or rain, once, in a file for each day and language.
// Run it twice, or kill it in between: the checkpoint knows how far it came.
import { account, dedupe, files, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const acme = account(await service.start()); // for the real service: account(), from MILLRACE_*

const written = await pipeline(
  search(acme, { product: '30day', query: 'coffee OR rain', maxResults: 500, limit: 5_000 }),
  dedupe(),
  files({ path: 'out/search/{day}/{lang}.jsonl.gz', gzip: true, checkpoint: 'out/search.json' }),
  { progress: 'auto' },
);
console.log(`${written.posts} posts in ${written.files.length} files, ${written.bytes} bytes`);
await service.stop();
