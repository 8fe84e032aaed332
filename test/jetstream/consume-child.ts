import { files, pipeline } from 'millrace';
import { fromJetStream } from 'millrace/jetstream';
import { type ConnectingJson, connecting } from './connecting.js';

const { path, checkpoint, connection, ...options } = JSON.parse(process.argv[2] ?? '{}');
const written = await pipeline(
  fromJetStream({ ...options, connection: connecting(...(connection as ConnectingJson)) }),
  files({ path, checkpoint, commitIntervalMs: 20 }),
);
console.log(`done ${JSON.stringify(written.posts)}`);
