// Writes two hours of yesterday's rule-based stream to one compressed file per hour. The result is
// complete, or the error lists the missing minutes. If you kill the script and run it again, it
// continues.
import { account, files, pipeline, replay, replayRules } from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ postsPerMinute: 60, stateFolder: 'out/replay/service' });
const acme = account(await service.start());
await replayRules.add(acme, [
  { value: 'coffee OR espresso', tag: 'coffee' },
  { value: 'rain lang:en', tag: 'rain' },
]);
const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
const { posts, files: hours } = await pipeline(
  replay(acme, {
    streamType: 'rulestream',
    fromDate: new Date(midnight - 12 * 3_600_000),
    toDate: new Date(midnight - 10 * 3_600_000),
  }),
  files({ path: 'out/replay/{hour}.jsonl.gz', checkpoint: 'out/replay/checkpoint.json' }),
  { progress: 'auto' },
);
for (const { path, posts } of hours) console.log(`${posts} posts in ${path}`);
console.log(`${posts} posts, and every minute of the window is confirmed`);
await service.stop();
