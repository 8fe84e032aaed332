import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';
import { onTask } from './task.js';

// The peer of `toJetStream`: publishes with only the NATS client, and ignores failures. The posts and
// their ids are in memory before the measurement starts.
await onTask(async ({ urls, stream, replicas, inFlight, files }) => {
  const posts = new Map<string, Uint8Array>();
  for (const file of files)
    for (const line of gunzipSync(readFileSync(file)).toString().trimEnd().split('\n'))
      posts.set((JSON.parse(line) as { id_str: string }).id_str, Buffer.from(line));
  const connection = await connect({ servers: urls });
  const manager = await jetstreamManager(connection);
  return async () => {
    await manager.streams.add({
      name: stream,
      subjects: [`${stream}.>`],
      num_replicas: replicas,
      duplicate_window: nanos(120_000),
    });
    const js = jetstream(connection);
    const waiting = [...posts].values();
    // Each worker takes the next post once its previous post is acknowledged.
    const worker = async () => {
      for (const [id, post] of waiting) await js.publish(`${stream}.0`, post, { msgID: id });
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    await connection.close();
    return posts.size;
  };
});
