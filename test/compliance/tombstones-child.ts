import { openTombstones } from '../../src/compliance/tombstones.js';
import { ofPost } from './event.js';

// Opens tombstones in a second process, for the tests of tombstones. Arguments: ROLE FOLDER.
const [role, folder = ''] = process.argv.slice(2);
const tell = (message: object) => process.send?.(message);

if (role === 'reader') {
  const tombstones = await openTombstones(folder, { readOnly: true });
  tell({ ready: tombstones.post('1') !== undefined });
  process.on('message', () => {
    tell({ saw: ['1', '2', '3'].map(id => tombstones.post(id)?.deleted === true) });
  });
} else {
  const tombstones = await openTombstones(folder);
  tell({ ready: true });
  for (let id = 1; ; id += 50) {
    const batch = Array.from({ length: 50 }, (_, n) => ofPost('delete', String(id + n)));
    await tombstones.record(batch, { source: 'numbers', cursor: { upTo: id + 49 } });
    tell({ recorded: id + 49 });
  }
}
