import { account, dedupe, files, pipeline, search } from 'millrace';

// The script that the test kills. Arguments: OUT, then account and search options as JSON.
const [out = '', options = '{}', query = '{}'] = process.argv.slice(2);

process.stdout.write('started\n');
const written = await pipeline(
  search(account(JSON.parse(options)), JSON.parse(query)),
  dedupe(),
  files({ path: `${out}/{day}.jsonl`, checkpoint: `${out}/checkpoint.json`, commitIntervalMs: 0 }),
);
process.stdout.write(`${JSON.stringify({ posts: written.posts })}\n`);
