// Stores posts. A day later, some of them are deleted, their authors suspended, or their locations
// removed. Records these events of the compliance stream as tombstones and applies them to the
// stored files.
import { account, applyCompliance, files, intoTombstones, openTombstones, pipeline, replay } from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ postsPerMinute: 20, complianceRate: 0.5 });
const acme = account(await service.start());
const [minute, hour] = [60_000, 3_600_000];
const now = Date.now();
service.clock.set(now - 28 * hour); // the day on which the posts are stored
const stored = { fromDate: new Date(now - 29 * hour - 10 * minute), toDate: new Date(now - 29 * hour) };
const archive = 'out/compliant/archive';
const { posts } = await pipeline(
  replay(acme, { streamType: 'firehose', ...stored }),
  files({ path: `${archive}/{day}/{segment}.jsonl.gz` }),
);

service.clock.set(now); // for a live stream without an end: pipeline(compliance(acme), intoTombstones(tombstones))
const tombstones = await openTombstones('out/compliant/tombstones');
const meanwhile = { fromDate: new Date(now - 3.5 * hour), toDate: new Date(now - 2.5 * hour) };
const { events } = await pipeline(
  replay(acme, { streamType: 'compliance', ...meanwhile }),
  intoTombstones(tombstones, { source: null }),
);
const { removed, changed, rewritten } = await applyCompliance(archive, tombstones);
console.log(`${posts} posts stored; ${events} events; ${rewritten.length} files rewritten`);
console.log('Removed:', removed, 'changed:', changed);
console.log(`Files rewritten the second time: ${(await applyCompliance(archive, tombstones)).rewritten.length}`);
await tombstones.close();
await service.stop();
