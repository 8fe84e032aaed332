import path from 'node:path';
import { connect } from '@nats-io/transport-node';
import { files, pipeline } from 'millrace';
import { fromJetStream } from 'millrace/jetstream';
import { onTask } from './task.js';

await onTask(async ({ urls, stream, out }) => async () => {
  const { posts } = await pipeline(
    fromJetStream({
      connection: () => connect({ servers: urls, noAsyncTraces: true }),
      stream,
      subject: stream,
      until: 'caught up',
    }),
    files({ path: path.join(out, 'posts.jsonl'), checkpoint: path.join(out, 'checkpoint.json') }),
  );
  return posts;
});
