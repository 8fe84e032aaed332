// What Millrace is for, in one run: a local service, its newest posts by topic into files, a chart.
import asciichart from 'asciichart';
import {
  account,
  collect,
  counts,
  dedupe,
  files,
  matchRules,
  pipeline,
  routeByTag,
  search,
} from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const addresses = await service.start();
const acme = account(addresses);
console.log(`The local service listens at ${addresses.baseUrl}`);

const topics = ['coffee', 'music', 'rain', 'football'].map(topic => ({ value: topic, tag: topic }));
const query = topics.map(topic => topic.value).join(' OR ');
const written = await pipeline(
  search(acme, { product: '30day', query, maxResults: 500, limit: 5_000 }),
  dedupe(),
  matchRules(topics, { product: 'search' }),
  routeByTag(),
  files({ path: 'out/start/{tag}/{day}.jsonl' }),
  { progress: 'auto' },
);
const days = await pipeline(counts(acme, { product: '30day', query, bucket: 'day' }), collect());

for (const file of written.files)
  console.log(`${String(file.posts).padStart(6)} posts  ${file.path}`);
console.log(
  `${written.posts} posts, ${(written.bytes / 1e6).toFixed(1)} MB. Posts a day, ${days[0]?.timePeriod} on:`,
);
console.log(
  asciichart.plot(
    days.map(day => day.count),
    { height: 8 },
  ),
);
await service.stop();
