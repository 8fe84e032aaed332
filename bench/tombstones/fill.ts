import { type ComplianceEvent, openTombstones } from 'millrace';
import { deletedId } from './deletions.js';
import { ownMegabytes } from './memory.js';

/**
 * The number of deletions to add at once. The largest stream delivers this many in a few minutes.
 */
const BATCH = 50_000;

const [folder, count] = [String(process.argv[2]), Number(process.argv[3])];
const tombstones = await openTombstones(folder);
const raw = Buffer.from('{}');
let peak = 0;
const start = performance.now();
for (let n = 0; n < count; n += BATCH) {
  const events: ComplianceEvent[] = [];
  for (let i = n; i < Math.min(n + BATCH, count); i++)
    events.push({
      kind: 'delete',
      postId: String(deletedId(i, count)),
      userId: undefined,
      at: undefined,
      raw,
    });
  await tombstones.record(events, { source: 'bench', cursor: { recorded: n + events.length } });
  peak = Math.max(peak, ownMegabytes());
}
const seconds = (performance.now() - start) / 1000;
console.log(JSON.stringify({ seconds, peak, size: tombstones.size }));
await tombstones.close();
