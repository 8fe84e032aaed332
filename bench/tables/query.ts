import { text } from 'node:stream/consumers';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Work } from '../question.js';

// Runs a query on the output of a writer. Usage: node query.js WRITER, with the work as JSON on
// stdin.
const [writer = ''] = process.argv.slice(2);
const { out, format } = JSON.parse(await text(process.stdin)) as Work;

const { select, columns } =
  format === 'activity_streams'
    ? {
        select: 'twitter_lang AS lang, actor.followersCount AS author_followers',
        columns: "twitter_lang: 'VARCHAR', actor: 'STRUCT(followersCount INTEGER)'",
      }
    : {
        select: 'lang, "user".followers_count AS author_followers',
        columns: `lang: 'VARCHAR', "user": 'STRUCT(followers_count INTEGER)'`,
      };
const source =
  writer === 'json-lines'
    ? `(SELECT ${select} FROM read_json('${out}/posts.jsonl.*',
        format = 'newline_delimited', maximum_object_size = 16777216, columns = {${columns}}))`
    : `'${out}/posts.${writer.startsWith('csv') ? 'csv' : 'parquet'}'`;
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
let seconds = Number.POSITIVE_INFINITY;
let [posts, followers] = [0, 0];
for (let run = 0; run < 3; run++) {
  const before = performance.now();
  const answer = await connection.runAndReadAll(
    `SELECT lang, count(*)::INT, avg(author_followers), sum(author_followers)::DOUBLE FROM ${source} GROUP BY lang`,
  );
  seconds = Math.min(seconds, (performance.now() - before) / 1000);
  const rows = answer.getRows();
  posts = rows.reduce((sum, row) => sum + Number(row[1]), 0);
  followers = rows.reduce((sum, row) => sum + Number(row[3]), 0);
}
process.stdout.write(JSON.stringify({ seconds, posts, followers }));
