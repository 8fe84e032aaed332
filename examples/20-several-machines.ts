// One machine replays a stream and publishes it to NATS JetStream. Two others match each post
// against many rules and write tables. Set NATS_URL to the address of `nats-server -js` and run
// one of these commands on each machine:
//   npx tsx examples/20-several-machines.ts publish
//   npx tsx examples/20-several-machines.ts match 1/2
//   npx tsx examples/20-several-machines.ts match 2/2
// You can kill each of them, and the server, and start it again. Without arguments, all of them run
// on this machine, and the result is compared with that of a single process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import { parseArgs } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { account, csv, matchRules, pipeline, replay } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { createService, samplePosts } from 'millrace/service';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rules: { type: 'string', default: '250000' } },
});
const [role, shard = '1/1'] = positionals;
const servers = (process.env.NATS_URL ?? 'nats://127.0.0.1:4222').split(',');
const connection = () => connect({ servers, maxReconnectAttempts: -1 });
const stream = { connection, stream: 'posts', subject: 'posts' };

if (role === 'publish') await publish();
else if (role === 'match') await match();
else await allHere();

/** Publishes one hour of a stream. */
async function publish(): Promise<void> {
  const service = createService({ postsPerMinute: 60, stateFolder: 'out/machines/service' });
  const acme = account(await service.start()); // for the real service: account()
  const noon = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 43_200_000;
  const { posts } = await pipeline(
    replay(acme, { streamType: 'firehose', fromDate: new Date(noon - 3_600_000), toDate: new Date(noon) }),
    toJetStream({ ...stream, create: { maxBytes: 1e9, maxAgeMs: 86_400_000 } }), // with three servers: replicas: 3
  );
  console.log(`${posts} posts published`);
  await service.stop();
}

/** Matches one shard of what was published so far. For an endless stream, omit `until`. */
async function match(): Promise<void> {
  const [index = 1, of = 1] = shard.split('/').map(Number);
  const folder = `out/machines/${index}-of-${of}`;
  const { posts } = await pipeline(
    fromJetStream({ ...stream, shard: { index, of }, until: 'caught up' }),
    matchRules(madeUpRules(Number(values.rules)), { product: 'replay', dropUnmatched: true }),
    csv({
      path: `${folder}/matches.csv`,
      checkpoint: `${folder}/checkpoint.json`,
      columns: ['id', 'posted_at', 'author_handle', 'rule_tags', 'link'],
    }),
  );
  console.log(`${shard}: ${posts} posts match`);
}

/**
 * Creates rules of two words that occur in generated posts. Skips `from` and `this`, because they
 * are stop words, and `http`.
 */
function madeUpRules(count: number): { value: string; tag: string }[] {
  const posts = samplePosts(new Date('2024-01-01'), { postsPerMinute: 2_000 });
  const words = [...new Set(posts.flatMap(post => post.text.match(/\b(?!from|this|http)[a-z]{4,12}\b/g) ?? []))];
  const word = (number: number) => words[number % words.length];
  return Array.from({ length: count }, (_, number) => ({
    value: `${word(number)} ${word(number + 1 + Math.floor(number / words.length))}`,
    tag: `rule ${number}`,
  }));
}

async function allHere(): Promise<void> {
  const free = net.createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as net.AddressInfo;
  free.close();
  await mkdir('out/machines', { recursive: true });
  const server = spawn('nats-server', ['-js', '-a', '127.0.0.1', '-p', `${port}`, '-sd', 'out/machines/nats'], {
    stdio: 'ignore',
  });
  server.once('error', () => {
    console.error('This example needs nats-server: apt-get install nats-server, or https://nats.io/download');
    process.exit(1);
  });
  const run = async (...args: string[]) => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, import.meta.filename, ...args, '--rules', values.rules],
      {
        stdio: 'inherit',
        env: { ...process.env, NATS_URL: `nats://127.0.0.1:${port}` },
      },
    );
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${args.join(' ')} ended with exit code ${code}`);
  };
  try {
    await run('publish');
    await Promise.all([run('match', '1/2'), run('match', '2/2')]);
    await run('match');
    const rows = async (name: string) =>
      (await readFile(`out/machines/${name}/matches.csv`, 'utf8')).trim().split(/\r?\n/).slice(1);
    const parts = [...(await rows('1-of-2')), ...(await rows('2-of-2'))];
    const same = parts.sort().join() === (await rows('1-of-1')).sort().join();
    console.log(`${parts.length} rows in two tables, ${same ? 'the same as' : 'other than'} those of one process`);
    process.exitCode = same ? 0 : 1;
  } finally {
    server.kill();
  }
}
