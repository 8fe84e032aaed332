// Searches for many rules with few requests and writes a file per tag. Each run sends at most 3
// requests, and the next run continues where it stopped.
import { account, files, IncompleteError, pipeline, preview, routeByTag, search } from 'millrace';
import { createService } from 'millrace/service';

const service = createService(); // only for the local service
const acme = account(await service.start()); // for the real service: account(), which reads MILLRACE_*
const options = {
  product: '30day',
  maxResults: 100,
  fromDate: new Date(Date.now() - 2 * 86_400_000),
  toDate: new Date(Date.now() - 86_400_000),
  rules: [
    { value: 'coffee -is:retweet', tag: 'drinks' },
    { value: 'tea OR "green tea"', tag: 'drinks' },
    { value: 'rain (lang:en OR lang:es)', tag: 'weather' },
    { value: 'football', tag: 'sports' },
  ],
} as const;
const { posts, requests, queries } = await preview(acme, options);
console.log(`${options.rules.length} rules in ${queries.length} query: ${posts} posts, ${requests} requests`);
for (let isComplete = false; !isComplete; )
  try {
    const written = await pipeline(
      search(acme, { ...options, budget: { requests: 3 } }),
      routeByTag(),
      files({ path: 'out/rules/{tag}.jsonl', checkpoint: 'out/rules/checkpoint.json' }),
    );
    console.log(`complete: ${written.posts} lines in ${written.files.length} files`);
    isComplete = true;
  } catch (error) {
    if (!(error instanceof IncompleteError) || error.reason !== 'budget') throw error;
    console.log('3 requests are spent');
  }
await service.stop();
