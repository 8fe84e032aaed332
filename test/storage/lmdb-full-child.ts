import { openTombstones } from '../../src/compliance/tombstones.js';
import { UsageStore } from '../../src/service/usage/usage-store.js';
import { ofPost } from '../compliance/event.js';

// Records until the system lets no file grow, then prints what was confirmed and the error: KIND FOLDER.
const [kind, folder = ''] = process.argv.slice(2);
const tombstones = kind === 'tombstones' ? await openTombstones(folder) : undefined;
const usage = new UsageStore(folder);
const ids = (from: number) => Array.from({ length: 200 }, (_, n) => String(from * 1_000_003 + n));
let confirmed = 0;
try {
  for (;;) {
    const batch = ids(confirmed + 1);
    if (tombstones !== undefined) await tombstones.record(batch.map(id => ofPost('delete', id)));
    else await usage.add([{ day: 0, product: '30day', ids: batch, requests: 1 }]);
    confirmed++;
  }
} catch (error) {
  const { code, path, message } = error as { code?: string; path?: string; message?: string };
  process.stdout.write(JSON.stringify({ confirmed, code, path, message }));
}
process.exit();
