import { DuckDBInstance } from '@duckdb/node-api';
import type { Work } from '../question.js';

/**
 * Converts the same JSON to twelve columns with DuckDB alone. DuckDB is told which members to read.
 */
export async function copyTwelve(
  { files, out, format = 'original' }: Work,
  target: 'parquet' | 'csv',
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const list = files.map(file => `'${file.replaceAll("'", "''")}'`).join(', ');
  const { select, columns } = FORMATS[format];
  await connection.run(`
    COPY (
      SELECT ${select}
      FROM read_json([${list}], format = 'newline_delimited', maximum_object_size = 16777216, columns = {${columns}})
    ) TO '${out}/posts.${target}' (FORMAT ${target})`);
  connection.closeSync();
  instance.closeSync();
}

const HASHTAGS = 'STRUCT(hashtags STRUCT("text" VARCHAR)[])';
const CONTENT = `"text" VARCHAR, extended_tweet STRUCT(full_text VARCHAR), entities ${HASHTAGS}`;
const NOTE = `body VARCHAR, long_object STRUCT(body VARCHAR), twitter_entities ${HASHTAGS}`;

const FORMATS = {
  original: {
    select: `id_str AS id, strptime(created_at, '%a %b %d %H:%M:%S %z %Y') AS posted_at,
      coalesce(retweeted_status.extended_tweet.full_text, retweeted_status."text", extended_tweet.full_text, "text") AS "text",
      lang, "user".id_str AS author_id, "user".screen_name AS author_handle,
      "user".followers_count AS author_followers, favorite_count, retweet_count,
      list_transform(entities.hashtags, lambda tag: tag."text") AS hashtags,
      in_reply_to_status_id_str AS replied_id, retweeted_status.id_str AS shared_id`,
    columns: `id_str: 'VARCHAR', created_at: 'VARCHAR', "text": 'VARCHAR', lang: 'VARCHAR',
      extended_tweet: 'STRUCT(full_text VARCHAR)', entities: '${HASHTAGS}',
      "user": 'STRUCT(id_str VARCHAR, screen_name VARCHAR, followers_count INTEGER)',
      favorite_count: 'INTEGER', retweet_count: 'INTEGER', in_reply_to_status_id_str: 'VARCHAR',
      retweeted_status: 'STRUCT(id_str VARCHAR, ${CONTENT})'`,
  },
  activity_streams: {
    select: `id[29:] AS id, postedTime::TIMESTAMP AS posted_at,
      coalesce(object.long_object.body, object.body, long_object.body, body) AS "text",
      twitter_lang AS lang, actor.id[16:] AS author_id, actor.preferredUsername AS author_handle,
      actor.followersCount AS author_followers, favoritesCount AS favorite_count, retweetCount AS retweet_count,
      list_transform(twitter_entities.hashtags, lambda tag: tag."text") AS hashtags,
      split_part(inReplyTo.link, '/', 6) AS replied_id, CASE verb WHEN 'share' THEN object.id[29:] END AS shared_id`,
    columns: `id: 'VARCHAR', verb: 'VARCHAR', postedTime: 'VARCHAR', twitter_lang: 'VARCHAR',
      body: 'VARCHAR', long_object: 'STRUCT(body VARCHAR)', twitter_entities: '${HASHTAGS}',
      actor: 'STRUCT(id VARCHAR, preferredUsername VARCHAR, followersCount INTEGER)',
      favoritesCount: 'INTEGER', retweetCount: 'INTEGER', inReplyTo: 'STRUCT(link VARCHAR)',
      object: 'STRUCT(id VARCHAR, ${NOTE})'`,
  },
} as const;
