// Writes the usage of the account to a file and draws a chart with the projection and the limits.
import { account, files, pipeline, search, usage } from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ usageAlert: 4_000, usageCap: 5_000, requestCap: 10 });
const acme = account(await service.start());

// Creates usage to report: searches in earlier months and today.
const now = Date.now();
for (const daysAgo of [55, 30, 0]) {
  service.clock.set(now - daysAgo * 86_400_000);
  const product = daysAgo === 30 ? 'fullarchive' : '30day';
  const limit = 500 + 30 * daysAgo;
  const posts = search(acme, { product, query: 'coffee OR music OR rain', maxResults: 500, limit });
  await pipeline(posts, files({ path: `out/usage/posts-${daysAgo}.jsonl` }));
}

console.log(usage.chart(await usage.report(acme)));
const rows = await pipeline(usage.rows(acme), files({ path: 'out/usage/rows.jsonl' }));
console.log(`\nThe same as rows: ${rows.bytes} bytes in out/usage/rows.jsonl`);
await service.stop();
