import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { onTask } from './task.js';

const LINE_FEED = Buffer.from('\n');

// A script that uses only the NATS client and ignores failures. It stores no cursor.
await onTask(async ({ urls, stream, posts, out }) => {
  const connection = await connect({ servers: urls });
  const manager = await jetstreamManager(connection);
  return async () => {
    const { name } = await manager.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      mem_storage: true,
    });
    const consumer = await jetstream(connection).consumers.get(stream, name);
    const file = createWriteStream(path.join(out, 'bare.jsonl'));
    let count = 0;
    while (count < posts)
      for await (const { data } of await consumer.fetch({ max_messages: 500, expires: 2_000 })) {
        file.write(data);
        if (!file.write(LINE_FEED)) await once(file, 'drain');
        count++;
      }
    file.end();
    await once(file, 'close');
    await connection.close();
    return count;
  };
});
