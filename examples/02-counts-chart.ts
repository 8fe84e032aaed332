// Draws a chart in the terminal of how often a word was used each hour.
import { account, chart, counts, pipeline } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const acme = account(await service.start());

const query = process.argv[2] ?? 'coffee lang:en';
const posts = await pipeline(counts(acme, { product: '30day', query, bucket: 'hour' }), chart());
console.log(`${posts} posts in 30 days for ${query}`);
await service.stop();
