// How often a word was used, day by day, as a chart on the terminal.
import asciichart from 'asciichart';
import { account, collect, counts, pipeline } from 'millrace';
import { createService } from 'millrace/service';

const service = createService();
const acme = account(await service.start());

const buckets = await pipeline(
  counts(acme, { product: '30day', query: process.argv[2] ?? 'rain', bucket: 'day' }),
  collect(),
);
console.log(
  asciichart.plot(
    buckets.map(bucket => bucket.count),
    { height: 10 },
  ),
);
console.log(`${buckets[0]?.timePeriod} to ${buckets.at(-1)?.timePeriod}, a column a day`);
await service.stop();
