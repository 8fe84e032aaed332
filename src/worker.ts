import { SHOWN_IDS } from './compliance/without-deleted.js';
import { serveThread } from './files/thread-calls.js';
import { POSTS } from './operators/activities.js';
import { IDS } from './operators/dedupe.js';
import { MATCHES } from './operators/match-rules.js';
import { TAGS } from './operators/route-by-tag.js';
import { SAMPLED } from './operators/sample.js';
import { PATH_KEYS } from './sinks/write/path-keys.js';
import { CSV_ROWS } from './tables/csv/csv-encoder.js';
import { ENCODE_CHUNKS } from './tables/parquet/column-chunk.js';
import { PARQUET_ROWS } from './tables/parquet/parquet-rows.js';

// The script that runs in the threads that decode stored files. It lists everything that these threads can
// run.
serveThread({
  records: [POSTS],
  columns: [IDS.kind, TAGS.kind, SHOWN_IDS.kind, MATCHES, SAMPLED, PATH_KEYS],
  encoders: [CSV_ROWS, PARQUET_ROWS],
  tasks: [ENCODE_CHUNKS],
});
