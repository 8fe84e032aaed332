import { DuckDBInstance } from '@duckdb/node-api';
import type { Work } from '../question.js';

/**
 * Writes the first line with each id, unchanged, once for every tag of the post. The CSV writer has
 * no quote character, and its delimiter cannot occur in JSON, so it writes plain lines.
 */
export async function run({ files, out, format }: Work): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const list = files.map(file => `'${file.replaceAll("'", "''")}'`).join(', ');
  const [id, rules] =
    format === 'activity_streams' ? ['id', 'gnip.matching_rules'] : ['id_str', 'matching_rules'];
  await connection.run(`
    COPY (
      WITH posts AS (
        SELECT DISTINCT ON (json->>'$.${id}') json,
          list_distinct(list_filter(json->>'$.${rules}[*].tag', lambda tag: tag IS NOT NULL)) AS tags
        FROM read_json_objects([${list}], format = 'newline_delimited', maximum_object_size = 16777216)
      )
      SELECT json, unnest(CASE WHEN len(tags) = 0 THEN ['untagged'] ELSE tags END) AS tag FROM posts
    ) TO '${out}' (FORMAT csv, PARTITION_BY (tag), OVERWRITE_OR_IGNORE,
      HEADER false, QUOTE '', ESCAPE '', DELIMITER '\u0001')`);
  connection.closeSync();
  instance.closeSync();
}
