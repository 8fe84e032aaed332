import { tables } from 'millrace';

const TYPES = {
  string: 'text',
  int32: 'int',
  double: 'float8',
  boolean: 'bool',
  timestamp: 'timestamptz',
};

export const COLUMNS = Object.values(tables.posts);
const LIST = COLUMNS.map(
  ({ name, type }) => `${name} ${TYPES[type as keyof typeof TYPES] ?? 'json'}`,
);
/**
 * The SQL that creates the tables. `id` is the primary key and the corpus contains duplicates, so
 * the variants use `dedupe`.
 */
export const TABLE = `CREATE TABLE posts (${LIST.join(', ')}, PRIMARY KEY (id));
  CREATE TABLE checkpoints (name text PRIMARY KEY, saved text)`;
