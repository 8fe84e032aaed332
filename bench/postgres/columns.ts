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
/** The ids of the corpus come twice at times, so there is `dedupe` before. */
export const TABLE = `CREATE TABLE posts (${LIST.join(', ')}, PRIMARY KEY (id));
  CREATE TABLE checkpoints (name text PRIMARY KEY, saved text)`;
