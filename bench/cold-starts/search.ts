import { account, files, pipeline, search } from 'millrace';

const acme = account(JSON.parse(process.argv[2] ?? ''));
await pipeline(
  search(acme, { product: '30day', query: 'coffee', limit: 100, maxResults: 100 }),
  files({ path: 'posts.jsonl' }),
);
