import { files, pipeline } from 'millrace';
import { fromJetStream } from 'millrace/jetstream';

// Reads a stream into files, with options from its argument.
const { path, checkpoint, ...options } = JSON.parse(process.argv[2] ?? '{}');
const written = await pipeline(
  fromJetStream(options),
  files({ path, checkpoint, commitIntervalMs: 20 }),
);
console.log(`done ${JSON.stringify(written.posts)}`);
