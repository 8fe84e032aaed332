import { connect } from '@nats-io/transport-node';
import { activities, dedupe, gunzip, jsonLines, localFiles, pipeline } from 'millrace';
import { toJetStream } from 'millrace/jetstream';
import { onTask } from './task.js';

await onTask(async ({ urls, stream, replicas, inFlight, files, batch }) => async () => {
  const { posts } = await pipeline(
    localFiles([...files]),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe({ window: 1_000_000 }),
    toJetStream({
      connection: () => connect({ servers: urls, noAsyncTraces: true }),
      stream,
      subject: stream,
      maxInFlight: inFlight,
      batch,
      create: { maxBytes: 4e9, replicas, shards: 8 },
    }),
  );
  return posts;
});
