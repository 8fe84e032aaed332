import { rm, stat } from 'node:fs/promises';
import { type DuckDBConnection, DuckDBInstance, version as versionOf } from '@duckdb/node-api';
import type { Posts } from './posts.js';
import { type Month, PAGE, type Query } from './queries.js';

// The parts of a post that the queries read. For a retweet, these are the text and the links of the
// retweeted post.
const ENTITIES =
  'STRUCT(urls STRUCT(expanded_url VARCHAR, display_url VARCHAR, unwound STRUCT(url VARCHAR))[])';
const CONTENT =
  `"text" VARCHAR, entities ${ENTITIES}, ` +
  `extended_tweet STRUCT(full_text VARCHAR, entities ${ENTITIES})`;
const TYPES = {
  created_at: 'VARCHAR',
  id_str: 'VARCHAR',
  lang: 'VARCHAR',
  text: 'VARCHAR',
  entities: ENTITIES,
  extended_tweet: `STRUCT(full_text VARCHAR, entities ${ENTITIES})`,
  retweeted_status: `STRUCT(${CONTENT})`,
};

let instance: DuckDBInstance;
let connection: DuckDBConnection;

export function version(): string {
  return versionOf();
}

/**
 * Creates a table from the files that Millrace also searches. The posts stay in the order of the
 * files, which is by time. Resolves to the size of the table in bytes.
 */
export async function build({ folder }: Posts): Promise<number> {
  const file = fileOf(folder);
  await rm(file, { force: true });
  await open({ folder });
  const columns = Object.entries(TYPES).map(([name, type]) => `"${name}": '${type}'`);
  await connection.run(`
    CREATE TABLE posts AS
    WITH read AS (
      SELECT strptime(created_at, '%a %b %d %H:%M:%S +0000 %Y') AS time, id_str::BIGINT AS id, lang,
        coalesce(retweeted_status.extended_tweet.full_text, retweeted_status.text,
          extended_tweet.full_text, text) AS whole,
        CASE WHEN retweeted_status IS NULL THEN '' ELSE regexp_extract(text, '^RT @\\w+: ') END AS prefix,
        CASE WHEN retweeted_status IS NULL
          THEN coalesce(extended_tweet.entities, entities)
          ELSE coalesce(retweeted_status.extended_tweet.entities, retweeted_status.entities)
        END.urls AS urls
      FROM read_json('${folder}/*.json.gz', format = 'newline_delimited', columns = {${columns}})
    ), folded AS (
      SELECT time, id, lang,
        strip_accents(lower(replace(replace(replace(prefix || whole,
          '&lt;', '<'), '&gt;', '>'), '&amp;', '&'))) AS text,
        strip_accents(lower(array_to_string(list_transform(urls,
          lambda url: concat_ws(' ', url.expanded_url, url.unwound.url, url.display_url)), ' '))) AS links
      FROM read
    )
    SELECT time, id, lang, text, concat_ws(' ', text, links) AS words FROM folded ORDER BY time, id`);
  await connection.run('CHECKPOINT');
  await close();
  return (await stat(file)).size;
}

export async function open({ folder }: { readonly folder: string }): Promise<void> {
  instance = await DuckDBInstance.create(fileOf(folder));
  connection = await instance.connect();
}

export async function search(query: Query, month: Month): Promise<readonly string[]> {
  const rows = await connection.runAndReadAll(
    `SELECT id FROM posts WHERE ${within(month)} AND ${query.where} ORDER BY time DESC, id DESC LIMIT ${PAGE}`,
  );
  return rows.getRows().map(([id]) => String(id));
}

export async function counts(query: Query, month: Month): Promise<Record<string, number>> {
  const rows = await connection.runAndReadAll(
    `SELECT epoch_ms(date_trunc('hour', time)) AS hour, count(*) FROM posts ` +
      `WHERE ${within(month)} AND ${query.where} GROUP BY hour ORDER BY hour`,
  );
  return Object.fromEntries(rows.getRows().map(([hour, count]) => [String(hour), Number(count)]));
}

export async function close(): Promise<void> {
  connection.closeSync();
  instance.closeSync();
}

function within({ from, to }: Month): string {
  return `time >= '${sqlTime(from)}' AND time < '${sqlTime(to)}'`;
}

function sqlTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

function fileOf(folder: string): string {
  return `${folder}.duckdb`;
}
