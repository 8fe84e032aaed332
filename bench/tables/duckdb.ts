import { DuckDBInstance } from '@duckdb/node-api';
import type { Work } from '../question.js';

/** DuckDB's own conversion of the same JSON, told which members it has to read. */
export async function run({ files, out }: Work): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const list = files.map(file => `'${file.replaceAll("'", "''")}'`).join(', ');
  const content =
    '"text" VARCHAR, extended_tweet STRUCT(full_text VARCHAR), entities STRUCT(hashtags STRUCT("text" VARCHAR)[])';
  await connection.run(`
    COPY (
      SELECT id_str AS id, strptime(created_at, '%a %b %d %H:%M:%S %z %Y') AS posted_at,
        coalesce(retweeted_status.extended_tweet.full_text, retweeted_status."text", extended_tweet.full_text, "text") AS "text",
        lang, "user".id_str AS author_id, "user".screen_name AS author_handle,
        "user".followers_count AS author_followers, favorite_count, retweet_count,
        list_transform(entities.hashtags, lambda tag: tag."text") AS hashtags,
        in_reply_to_status_id_str AS replied_id, retweeted_status.id_str AS shared_id
      FROM read_json([${list}], format = 'newline_delimited', maximum_object_size = 16777216, columns = {
        id_str: 'VARCHAR', created_at: 'VARCHAR', "text": 'VARCHAR', lang: 'VARCHAR',
        extended_tweet: 'STRUCT(full_text VARCHAR)', entities: 'STRUCT(hashtags STRUCT("text" VARCHAR)[])',
        "user": 'STRUCT(id_str VARCHAR, screen_name VARCHAR, followers_count INTEGER)',
        favorite_count: 'INTEGER', retweet_count: 'INTEGER', in_reply_to_status_id_str: 'VARCHAR',
        retweeted_status: 'STRUCT(id_str VARCHAR, ${content})'
      })
    ) TO '${out}/posts.parquet' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
}
