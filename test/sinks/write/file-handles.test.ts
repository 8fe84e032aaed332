import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { FileHandles } from '../../../src/sinks/write/file-handles.js';
import { nodeFileSystem, type OpenFile, writeAll } from '../../../src/storage/file-system.js';
import { temporaryFolder } from '../../temporary-folder.js';

it('FileHandles reopens a file without recreating it if the file was closed while a call waited for it', async () => {
  const folder = await temporaryFolder();
  const files = new FileHandles(nodeFileSystem, 2, (_, work) => work());
  const fileOf = (name: string) => ({ part: path.join(folder, name), fresh: true });
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(fileOf) as [File, File, File, File, File];
  // Like `PartFiles`, sets `fresh` to `false` when the file is open.
  const write = (used: readonly File[], text: string, position: number) =>
    files.use(used, async open => {
      for (const file of used) file.fresh = false;
      await writeAll(open[0] as OpenFile, Buffer.from(text), position);
    });
  await Promise.all([
    write([a], 'first ', 0),
    write([b], 'b', 0),
    // These two writes close a file that the last write needs again.
    write([c, d], 'c', 0),
    write([a, e], 'second', 6),
  ]);
  await files.abandon();
  expect(await readFile(a.part, 'utf8')).toBe('first second');
});

it('FileHandles keeps a file open during a long call, although other files were used after it', async () => {
  const folder = await temporaryFolder();
  const files = new FileHandles(nodeFileSystem, 2, (_, work) => work());
  const fileOf = (name: string) => ({ part: path.join(folder, name), fresh: true });
  const long = fileOf('long');
  let end = () => {};
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  const written = files.use([long], async ([open]) => {
    await ended;
    await writeAll(open as OpenFile, Buffer.from('all of it'), 0);
  });
  // Only the first of these two files is idle when the second one needs a descriptor.
  for (const name of ['idle', 'next'])
    await files.use([fileOf(name)], async ([open]) =>
      writeAll(open as OpenFile, Buffer.from(name), 0),
    );
  end();
  await written;
  await files.abandon();
  expect(await readFile(long.part, 'utf8')).toBe('all of it');
});

interface File {
  readonly part: string;
  fresh: boolean;
}
