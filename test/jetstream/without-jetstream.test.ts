import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { fromJetStream } from '../../src/jetstream/from-jet-stream.js';
import { toJetStream } from '../../src/jetstream/to-jet-stream.js';
import { samplePosts } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { connecting } from './connecting.js';
import { hasNatsServer, startNode } from './nats-server.js';

describe.skipIf(!hasNatsServer)('a server without JetStream', () => {
  it('is named in the error of a publisher and of a reader', async () => {
    await using node = await startNode({ jetstream: 'enabled: false' });
    const options = {
      connection: connecting(node.url),
      stream: 'posts',
      subject: 'posts',
      maxOutageMs: 500,
    };
    const failed = {
      code: 'ERR_JETSTREAM',
      failure: 'outage',
      message: expect.stringMatching(/jetstream is not enabled/i),
    };
    const posts = samplePosts(new Date('2024-01-01'), { postsPerMinute: 2 });
    const publishing = pipeline(
      Readable.from(posts),
      toJetStream({ ...options, create: { maxBytes: 2 ** 20 } }),
    );
    await expect(publishing).rejects.toMatchObject(failed);
    await expect(pipeline(fromJetStream(options), collect())).rejects.toMatchObject(failed);
  });
});
