import { createService } from 'millrace/service';
import { peakMemory } from '../peak-memory.js';

const [query = ''] = process.argv.slice(2);
const service = createService({
  postsPerMinute: 60,
  limits: 'relaxed',
  countsTimeoutMs: 600_000,
  searchTimeoutMs: 600_000,
});
const { baseUrl, account, label, email, password } = await service.start();
service.clock.set(Date.UTC(2024, 5, 15));
service.clock.freeze();

async function ask(path: string, parameters: object) {
  const began = performance.now();
  const response = await fetch(`${baseUrl}/search/30day/accounts/${account}/${label}${path}.json`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${email}:${password}`)}` },
    body: JSON.stringify({ query, ...parameters }),
  });
  if (!response.ok) throw new Error(await response.text());
  const answer = (await response.json()) as { readonly totalCount?: number };
  return { ms: performance.now() - began, posts: answer.totalCount };
}

const page = await ask('', { maxResults: 100 });
const first = await ask('/counts', { bucket: 'day' });
const again = await ask('/counts', { bucket: 'day' });
await service.stop();
process.send?.({
  pageMs: page.ms,
  firstMs: first.ms,
  againMs: again.ms,
  posts: first.posts,
  peakMegabytes: peakMemory() / 2 ** 20,
});
