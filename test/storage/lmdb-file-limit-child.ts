import { setImmediate as turn } from 'node:timers/promises';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { UsageStore } from '../../src/service/usage/usage-meter.js';
import { ofPost } from '../compliance/event.js';

// Records entries until a write fails because files cannot grow any further. Then records an empty
// batch and closes. Prints how many batches were confirmed, and the error. Arguments: KIND FOLDER.
const [kind, folder = ''] = process.argv.slice(2);
const tombstones = kind === 'tombstones' ? await openTombstones(folder) : undefined;
const usage = new UsageStore(folder);
const ids = (from: number) => Array.from({ length: 200 }, (_, n) => String(from * 1_000_003 + n));
let confirmed = 0;
let failure: unknown;
while (failure === undefined)
  try {
    const batch = ids(confirmed + 1);
    if (tombstones !== undefined) await tombstones.record(batch.map(id => ofPost('delete', id)));
    else await usage.add([{ day: 0, product: '30day', ids: batch, requests: 1 }]);
    confirmed++;
  } catch (error) {
    failure = error;
  }
// If nothing handled the rejection, the process would end in this turn.
await turn();
await tombstones?.record([]);
await usage.add([]);
await tombstones?.close();
await usage.close();
const { code, path, message } = failure as { code?: string; path?: string; message?: string };
process.stdout.write(JSON.stringify({ confirmed, code, path, message }));
