import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { pipeline } from 'millrace';
import { toJetStream } from 'millrace/jetstream';
import { type ConnectingJson, connecting } from './connecting.js';
import { numberedSource } from './numbered-posts.js';

// Publishes numbered posts with the options in its argument, and prints the outcome. At the post
// `holdAt`, waits for `Child.release`.
const {
  total,
  size,
  waitMs = 0,
  holdAt,
  connection,
  ...options
} = JSON.parse(process.argv[2] ?? '{}');
const released = once(process, 'SIGUSR2');
try {
  const source = numberedSource({
    total,
    size,
    before: async from => {
      console.log(`at ${from}`);
      if (from === holdAt) await released;
      await wait(waitMs);
    },
  });
  const published = await pipeline(
    source,
    toJetStream({ ...options, connection: connecting(...(connection as ConnectingJson)) }),
  );
  console.log(`done ${JSON.stringify(published)}`);
} catch (error) {
  const { name, code, failure, message } = error as Error & Record<string, unknown>;
  console.log(`error ${JSON.stringify({ name, code, failure, message })}`);
  process.exitCode = 1;
}
