import { appendFile, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { MAX_BUFFER_BYTES } from '../../../src/sinks/write/format.js';
import { OutputNames } from '../../../src/sinks/write/output-names.js';
import { PartFiles } from '../../../src/sinks/write/part-files.js';
import {
  type FileSystem,
  nodeFileSystem,
  type OpenFile,
  writeAll,
} from '../../../src/storage/file-system.js';
import { temporaryFolder } from '../../temporary-folder.js';

function partsIn(folder: string, fs: FileSystem = nodeFileSystem): PartFiles {
  return new PartFiles(
    fs,
    new OutputNames({ folder, reserved: [], claims: new Map() }),
    { compression: undefined, maxOpen: 4, only: undefined, afterFailure: () => '' },
    new AbortController().signal,
  );
}

function fileAt(name: string) {
  return {
    path: name,
    part: `${name}.part`,
    posts: 1,
    bytes: 0,
    fresh: true,
    ino: 0,
    named: false,
  };
}

async function finishedFile() {
  const folder = await temporaryFolder();
  const parts = partsIn(folder);
  const file = fileAt(path.join(folder, 'posts.jsonl'));
  file.bytes = await parts.write(file, [Buffer.from('one\n')], false);
  await parts.rename([file]);
  const names = () => readdir(folder);
  const content = () => readFile(file.path, 'utf8');
  return { parts, file, names, content };
}

it('PartFiles renames a finished file to .part before a thread extends the file', async () => {
  const { parts, file, names, content } = await finishedFile();
  expect(await names()).toEqual(['posts.jsonl']);
  await parts.writeRanges([{ file, position: 4, bytes: 4 }], async () => {
    expect(await names()).toEqual(['posts.jsonl.part']);
    const open = await nodeFileSystem.open(file.part, 'r+');
    await writeAll(open, Buffer.from('two\n'), 4);
    await open.close();
    return undefined;
  });
  file.bytes += 4;
  await parts.rename([file]);
  await parts.close();
  expect(await content()).toBe('one\ntwo\n');
});

it('PartFiles rejects a finished file that another process has extended', async () => {
  const { parts, file, names, content } = await finishedFile();
  await appendFile(file.path, 'more\n');
  const failure = await parts.write(file, [Buffer.from('two\n')], false).catch(error => error);
  await parts.close();
  expect(failure).toBeInstanceOf(StorageError);
  expect(failure.message).toContain('another process has changed it during this run');
  expect(await names()).toEqual(['posts.jsonl']);
  expect(await content()).toBe('one\nmore\n');
});

it('PartFiles syncs the parents of new folders', async () => {
  const folder = await temporaryFolder();
  const opened: string[] = [];
  const fs: FileSystem = {
    ...nodeFileSystem,
    open: (name, flags, ...rest) => {
      opened.push(name);
      return nodeFileSystem.open(name, flags, ...rest);
    },
  };
  const parts = partsIn(folder, fs);
  const file = fileAt(path.join(folder, 'new', 'newer', 'posts.jsonl'));
  file.bytes = await parts.write(file, [Buffer.from('one\n')], false);
  await parts.sync([file]);
  await parts.close();
  for (const name of [folder, path.join(folder, 'new'), path.join(folder, 'new', 'newer')])
    expect(opened).toContain(name);
});

it('PartFiles writes small chunks together, and large chunks without copying them', async () => {
  const folder = await temporaryFolder();
  const written: Uint8Array[] = [];
  const fs: FileSystem = {
    ...nodeFileSystem,
    async open(name, flags, ...rest) {
      const file = await nodeFileSystem.open(name, flags, ...rest);
      return Object.assign(Object.create(file), {
        write(...args: Parameters<OpenFile['write']>) {
          written.push(args[0]);
          return file.write(...args);
        },
      });
    },
  };
  const parts = partsIn(folder, fs);
  const file = fileAt(path.join(folder, 'posts.parquet'));
  const large = Buffer.alloc(MAX_BUFFER_BYTES, 'a');
  const small = (text: string) => Buffer.from(text);
  const chunks = [
    small('one'),
    small('two'),
    large,
    Buffer.from(large),
    small('three'),
    small('four'),
  ];
  const bytes = await parts.write(file, chunks, true);
  await parts.rename([file]);
  await parts.close();
  expect(written.map(block => chunks.indexOf(block as Buffer<ArrayBuffer>))).toEqual([
    -1, 2, 3, -1,
  ]);
  const expected = Buffer.concat(chunks);
  expect(bytes).toBe(expected.length);
  expect((await readFile(file.path)).equals(expected)).toBe(true);
});
