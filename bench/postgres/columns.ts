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
/** `id` is the primary key, so the variants use `dedupe`: the corpus contains duplicates. */
export const TABLE = `CREATE TABLE posts (${LIST.join(', ')}, PRIMARY KEY (id));
  CREATE TABLE checkpoints (name text PRIMARY KEY, saved text)`;
