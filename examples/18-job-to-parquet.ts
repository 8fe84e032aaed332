// Writes the files of a job as a Parquet dataset and queries it with SQL. If you stop the script
// and run it again, it continues. Requires DuckDB: npm install @duckdb/node-api
import { DuckDBInstance } from '@duckdb/node-api';
import {
  account,
  activities,
  dedupe,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  parquet,
  pipeline,
  routeByTag,
} from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ jobDollarsPerDay: 500, stateFolder: 'out/dataset/service' });
const acme = account(await service.start());
const job = await jobs.run(acme, {
  title: 'weather and sport, 1 January 2024',
  fromDate: '202401010000',
  toDate: '202401020000',
  dataFormat: 'original',
  rules: ['rain', 'football'].map(word => ({ value: word, tag: word })),
  decide: ({ costDollars = 0 }) => costDollars <= 500,
});
const { posts, files } = await pipeline(
  jobFiles(acme, job),
  gunzip(),
  jsonLines(),
  activities(),
  dedupe(),
  routeByTag(),
  parquet({
    path: 'out/dataset/posts/month={month}/tag={tag}/posts.parquet',
    checkpoint: 'out/dataset/checkpoint.json',
    compression: 'gzip',
  }),
);
console.log(`${posts} rows in ${files.length} files`);
await service.stop();

const duckdb = await (await DuckDBInstance.create()).connect();
const answer = await duckdb.runAndReadAll(`
  SELECT tag, lang, count(*)::INT AS posts, count(DISTINCT author_id)::INT AS authors
  FROM read_parquet('out/dataset/posts/*/*/*.parquet', hive_partitioning = true)
  WHERE month = '2024-01'
  GROUP BY ALL ORDER BY posts DESC, tag, lang LIMIT 5`);
console.table(answer.getRowObjectsJson());
duckdb.closeSync();
