// Prints posts unchanged, newest first, page by page. Try it with `| head -n 3` or `| jq .text`.
import { account, pipeline, search, stdout } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const acme = account(await service.start());

const query = process.argv[2] ?? 'music lang:en';
const { posts } = await pipeline(search(acme, { product: 'fullarchive', query, maxResults: 100, pages: 5 }), stdout());
console.error(`${posts} posts for ${query}`);
await service.stop();
