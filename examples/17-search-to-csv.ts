// Writes a search to CSV files for a spreadsheet, one per day. You can stop the script at any
// point. If you run it again, it continues.
import { account, csv, dedupe, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const acme = account(await service.start());
const { posts, files } = await pipeline(
  search(acme, { product: '30day', query: 'coffee OR rain', limit: 1_000 }),
  dedupe(),
  csv({
    path: 'out/csv/{day}.csv',
    checkpoint: 'out/csv/checkpoint.json',
    columns: [
      ...(['id', 'posted_at', 'author_handle', 'text', 'lang', 'favorite_count', 'hashtags', 'links'] as const),
      { name: 'words', type: 'int32', value: post => post.text.split(/\s+/).length },
    ],
    formulas: 'escape', // anyone can write these texts, and a spreadsheet would run those that start with =
    bom: true, // without it, Excel assumes another encoding
  }),
);
console.log(`${posts} posts in ${files.length} files`);
await service.stop();
