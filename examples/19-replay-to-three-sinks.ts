// Writes one replay to three sinks at once. Raw posts go to one file per hour, a table goes to a
// spreadsheet file, and a live count goes to stderr. If you kill the script and run it again, the
// files and the table continue from the same post.
import { type Activity, account, compose, csv, files, filter, pipeline, replay, replayRules, tee } from 'millrace';
import { createService } from 'millrace/service';

/** Counts posts by rule tag as they arrive, and returns the counts. */
async function countByTag(posts: AsyncIterable<Activity>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const show = () => process.stderr.write(`${JSON.stringify(counts)}\n`);
  const timer = setInterval(show, 1_000);
  try {
    for await (const { tags } of posts) for (const tag of tags) counts[tag] = (counts[tag] ?? 0) + 1;
  } finally {
    clearInterval(timer);
  }
  show();
  return counts;
}

const service = createService({ postsPerMinute: 60, stateFolder: 'out/three/service' });
const acme = account(await service.start());
await replayRules.add(acme, [
  { value: 'coffee OR espresso', tag: 'coffee' },
  { value: 'rain lang:en', tag: 'rain' },
]);
const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
const [raw, table, counts] = await pipeline(
  replay(acme, {
    streamType: 'rulestream',
    fromDate: new Date(midnight - 12 * 3_600_000),
    toDate: new Date(midnight - 11 * 3_600_000),
  }),
  tee(
    files({ path: 'out/three/{hour}.jsonl.gz' }),
    compose(
      filter(post => post.tags.includes('rain')),
      csv({ path: 'out/three/rain.csv', columns: ['id', 'posted_at', 'lang', 'text'], formulas: 'escape' }),
    ),
    countByTag,
    { checkpoint: 'out/three/checkpoint.json' },
  ),
);
console.log(`${raw.posts} posts in files, ${table.posts} of them about rain in a table`);
console.log(`counted in this run: ${counts.coffee ?? 0} about coffee, ${counts.rain ?? 0} about rain`);
await service.stop();
