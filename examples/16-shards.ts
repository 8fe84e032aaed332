// Runs one search in four concurrent processes, each with its shard, and compares the posts with
// those of a single process. Each process runs this script with MILLRACE_SHARD=1/4 and so on. On
// four machines, you would set it in the shell. If MILLRACE_BASE_URL or MILLRACE_URL is set, the
// script searches there in one process, otherwise in a local service.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { account, dedupe, files, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

const shard = process.env.MILLRACE_SHARD ?? '';
if (shard !== '' || process.env.MILLRACE_BASE_URL || process.env.MILLRACE_URL) {
  const folder = `out/shards/${shard === '' ? 'whole' : shard.replace('/', '-of-')}`;
  const { posts } = await pipeline(
    search(account(), {
      product: 'fullarchive',
      query: 'coffee lang:en',
      fromDate: '202401010000',
      toDate: '202401030000',
    }),
    dedupe(),
    files({ path: `${folder}/posts.jsonl`, checkpoint: `${folder}/checkpoint.json` }),
  );
  console.log(`${shard || 'all'}: ${posts} posts`);
} else {
  const service = createService(); // for the real service, only the shell commands are needed
  const { baseUrl, account, label, email, password } = await service.start();
  const start = (shard: string) =>
    spawn(process.execPath, [...process.execArgv, import.meta.filename], {
      stdio: 'inherit',
      env: {
        ...process.env,
        MILLRACE_URL: baseUrl,
        MILLRACE_ACCOUNT: account,
        MILLRACE_LABEL: label,
        MILLRACE_EMAIL: email,
        MILLRACE_PASSWORD: password,
        MILLRACE_SHARD: shard,
      },
    });
  const shards = ['1/4', '2/4', '3/4', '4/4'];
  await Promise.all([...shards.map(start), start('')].map(child => once(child, 'exit')));
  const read = async (name: string) => (await readFile(`out/shards/${name}/posts.jsonl`, 'utf8')).trim().split('\n');
  const parts = await Promise.all(shards.map(shard => read(shard.replace('/', '-of-'))));
  const same = parts.flat().sort().join() === (await read('whole')).sort().join();
  console.log(
    `${parts.flat().length} posts in four shards, ${same ? 'the same as' : 'other than'} those of one process`,
  );
  process.exitCode = same ? 0 : 1;
  await service.stop();
}
