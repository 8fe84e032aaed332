// A tour in one run: writes the newest posts to files by topic and draws a chart of all of them.
import { account, chart, counts, dedupe, files, matchRules, pipeline, routeByTag, search } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const addresses = await service.start();
const acme = account(addresses);
console.log(`The local service listens at ${addresses.baseUrl}\n`);

const topics = ['coffee', 'music', 'rain', 'football'].map(value => ({ value, tag: value }));
const query = topics.map(topic => topic.value).join(' OR ');
const written = await pipeline(
  search(acme, { product: '30day', query, maxResults: 500, limit: 5_000 }),
  dedupe(),
  matchRules(topics, { product: 'search' }),
  routeByTag(),
  files({ path: 'out/start/{tag}.jsonl' }),
  { progress: 'auto' },
);
for (const { path, posts } of written.files) console.log(`${posts} posts in ${path}`);
console.log(`\nPosts a day that speak of ${query}:\n`);
const total = await pipeline(counts(acme, { product: '30day', query, bucket: 'day' }), chart());
console.log(`\n${total} posts in 30 days; the newest of them are in out/start`);
await service.stop();
