import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { CheckpointFile } from '../../../src/sinks/commit/checkpoint-file.js';
import { Committer } from '../../../src/sinks/commit/committer.js';
import { type FileFormat, linesFormat } from '../../../src/sinks/write/format.js';
import { Outputs } from '../../../src/sinks/write/outputs.js';
import { type FileSystem, nodeFileSystem, writeAll } from '../../../src/storage/file-system.js';
import { temporaryFolder } from '../../temporary-folder.js';

interface Counted {
  readonly cursor: string | null;
  readonly posts: number;
  readonly files: readonly { readonly posts: number; readonly bytes: number }[];
}

function signal(): { readonly given: Promise<void>; give(): void } {
  let give = () => {};
  const given = new Promise<void>(resolve => {
    give = resolve;
  });
  return { given, give };
}

const lines = linesFormat({ encode: (line: Buffer) => line });

/** A format for which the bytes of items count as held until they are flushed. */
const heldFormat: FileFormat<Buffer> = {
  encode: item => item,
  encoder() {
    let held: Uint8Array[] = [];
    const flush = () => {
      const bytes = Buffer.concat(held);
      held = [];
      return [new Uint8Array(bytes)];
    };
    return {
      add: entry => held.push(entry as Buffer),
      get heldBytes() {
        return held.reduce((sum, { length }) => sum + length, 0);
      },
      full: false,
      flush,
      end: flush,
    };
  },
};

function outputsIn(
  folder: string,
  fs: FileSystem,
  format: FileFormat<Buffer>,
  maxBytes?: number,
): Outputs {
  return new Outputs(
    fs,
    {
      folder,
      reserved: [],
      claims: new Map(),
      only: undefined,
      compression: undefined,
      maxOpen: 4,
      maxOutputs: 10,
      maxBytes,
      progress: undefined,
      afterFailure: () => '',
      onFailure: () => {},
    },
    format,
  );
}

async function open(folder: string, fs: FileSystem = nodeFileSystem) {
  const outputs = outputsIn(folder, fs, lines);
  const checkpoint = path.join(folder, 'checkpoint.json');
  const owner = { sink: { step: 'test' }, flow: [] };
  const store = await CheckpointFile.open(nodeFileSystem, { file: checkpoint, folder, owner });
  const committer = new Committer({
    store,
    before: undefined,
    members: [{ outputs, everyMs: 1, branch: undefined }],
    fail: error => outputs.fail(error),
  });
  /**
   * Simulates a thread that writes a line. When `written` resolves, the line is written, but the
   * thread reports this only after `end`.
   */
  const writeLine = (file: string, line: string) => {
    const target = outputs.open(path.join(folder, file)).fileFor(line.length);
    const position = target.allocate(line.length);
    const bytes = line.length + 1;
    const range = { file: target, position, bytes, posts: 1 };
    const written = signal();
    const ended = signal();
    const done = outputs.writeRanges([range], async () => {
      const handle = await nodeFileSystem.open(target.part, 'r+');
      await writeAll(handle, Buffer.from(`${line}\n`), position);
      await handle.close();
      written.give();
      await ended.given;
      return undefined;
    });
    return {
      written: written.given,
      end: async () => {
        ended.give();
        await done;
      },
    };
  };
  return {
    outputs,
    committer,
    writeLine,
    checkpoint,
    committed: async () => JSON.parse(await readFile(checkpoint, 'utf8')) as Counted,
    close: async () => {
      await outputs.close();
      await store.close();
    },
  };
}

it('a checkpoint counts only items before its cursor, even if a thread finishes later items first', async () => {
  const { committer, writeLine, committed, close } = await open(await temporaryFolder());
  const first = writeLine('out.jsonl', '{"id":1}');
  await first.written;
  await committer.commit({ after: 1 });
  const second = writeLine('out.jsonl', '{"id":"2, which is behind the cursor"}');
  await second.written;
  await second.end();
  await first.end();
  await committer.idle();
  expect(await committed()).toMatchObject({
    cursor: { after: 1 },
    posts: 1,
    files: [{ posts: 1, bytes: 9 }],
  });
  await committer.commit({ after: 2 });
  await committer.idle();
  expect(await committed()).toMatchObject({
    cursor: { after: 2 },
    posts: 2,
    files: [{ posts: 2, bytes: 48 }],
  });
  await close();
});

it('a checkpoint waits for the writes of all threads before its cursor', async () => {
  const { committer, writeLine, committed, close } = await open(await temporaryFolder());
  const first = writeLine('out.jsonl', '{"id":1}');
  const second = writeLine('out.jsonl', '{"id":2}');
  await first.written;
  await second.written;
  await first.end();
  await new Promise(setImmediate);
  await committer.commit({ after: 2 });
  await second.end();
  await committer.idle();
  expect(await committed()).toMatchObject({
    cursor: { after: 2 },
    posts: 2,
    files: [{ posts: 2, bytes: 18 }],
  });
  await close();
});

it('a run commits nothing after another process has taken over its lock', async () => {
  const { outputs, committer, writeLine, checkpoint, close } = await open(await temporaryFolder());
  const line = writeLine('out.jsonl', '{"id":1}');
  await line.written;
  await line.end();
  await writeFile(`${checkpoint}.lock`, JSON.stringify({ pid: 1, host: 'other', token: 'other' }));
  await committer.commit({ after: 1 });
  await committer.idle();
  expect(String(outputs.failure)).toContain('Another process took');
  await expect(stat(checkpoint)).rejects.toThrow('ENOENT');
  await close();
});

it('a .part file that was replaced during the run by another file, even a longer one, is not committed', async () => {
  const folder = await temporaryFolder();
  const { outputs, close } = await open(folder);
  const part = path.join(folder, 'out.jsonl.part');
  const output = outputs.open(path.join(folder, 'out.jsonl'));
  output.add(Buffer.from('{"id":1}'));
  await outputs.sync(await outputs.settle());
  await writeFile(`${part}.new`, 'x'.repeat(1_000));
  await rename(`${part}.new`, part);
  output.add(Buffer.from('{"id":2}'));
  const counts = await outputs.settle();
  await expect(outputs.sync(counts)).rejects.toThrow('it was replaced, removed or cut');
  await close();
});

it('syncing an output file succeeds if a write ends while the sync waits for lstat', async () => {
  const asked = signal();
  const answered = signal();
  let isSlow = false;
  const slow: FileSystem = {
    ...nodeFileSystem,
    lstat: async file => {
      const status = await nodeFileSystem.lstat(file);
      if (!isSlow || !file.endsWith('.part')) return status;
      isSlow = false;
      asked.give();
      await answered.given;
      return status;
    },
  };
  const folder = await temporaryFolder();
  const { outputs, close } = await open(folder, slow);
  const file = path.join(folder, 'out.jsonl');
  const output = outputs.open(file);
  output.add(Buffer.from('{"id":1}'));
  await outputs.sync(await outputs.settle());
  output.add(Buffer.from('{"id":2}'));
  const counts = await outputs.settle();
  isSlow = true;
  const synced = outputs.sync(counts);
  await asked.given;
  output.add(Buffer.from('{"id":3}'));
  outputs.flush();
  await outputs.fileAt(file).idle();
  answered.give();
  await synced;
  await outputs.sync(await outputs.settle());
  await outputs.nameFiles();
  expect(await readFile(file, 'utf8')).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
  await close();
});

it('the lines of a block are counted once even if a thread has already reserved space for them', async () => {
  const folder = await temporaryFolder();
  const outputs = outputsIn(folder, nodeFileSystem, lines);
  const file = outputs.open(path.join(folder, 'out.jsonl')).fileFor(99);
  file.allocate(99);
  expect(file.size).toBe(100);
  const block = { rows: 1, parts: [new Uint8Array(10)], lineBytes: 100 };
  file.addBlock(1, Promise.resolve(block), 100);
  await file.idle();
  expect(file.size).toBe(100);
  await outputs.close();
});

it('no output file exceeds maxBytes even if two spellings of a path lead to the same files', async () => {
  const folder = await temporaryFolder();
  const outputs = outputsIn(folder, nodeFileSystem, lines, 6);
  const absolute = outputs.open(path.join(folder, 'x.txt'));
  const relative = outputs.open('x.txt');
  absolute.add(Buffer.from('A1'));
  relative.add(Buffer.from('R1'));
  // The first spelling fills another file before the second one is used again.
  for (const line of ['A2', 'A3', 'A4']) absolute.add(Buffer.from(line));
  relative.add(Buffer.from('R2'));
  await outputs.begin();
  await outputs.settle();
  await outputs.finish();
  const contents = ['x.0001.txt', 'x.0002.txt', 'x.0003.txt'].map(name =>
    readFile(path.join(folder, name), 'utf8'),
  );
  expect(await Promise.all(contents)).toEqual(['A1\nR1\n', 'A2\nA3\n', 'A4\nR2\n']);
  await outputs.close();
});

it('the largest output files are flushed until half of the memory is free', async () => {
  const folder = await temporaryFolder();
  const limits = { maxHeldBytes: 200, committedBytes: 1e9, committedItems: 1e9 };
  const outputs = outputsIn(folder, nodeFileSystem, { ...heldFormat, wholeFiles: limits });
  const filled = [30, 120, 60].map((size, index) => {
    const output = outputs.open(path.join(folder, `${index}.jsonl`));
    output.add(Buffer.alloc(size));
    return output.fileFor(0);
  });
  expect(outputs.full).toBe(true);
  await outputs.relieve();
  expect(filled.map(({ heldBytes }) => heldBytes)).toEqual([30, 0, 60]);
  await outputs.close();
});

it('a file that was begun during a commit stays a .part file when the files of the commit get their names', async () => {
  const folder = await temporaryFolder();
  const limits = { maxHeldBytes: 1e9, committedBytes: 1e9, committedItems: 1e9 };
  const outputs = outputsIn(folder, nodeFileSystem, { ...heldFormat, wholeFiles: limits });
  const add = async (name: string) => {
    outputs.open(path.join(folder, name)).add(Buffer.from('item'));
    await outputs.begin();
  };
  await add('first.bin');
  await outputs.settle();
  await add('second.bin');
  outputs.flush();
  await outputs.open(path.join(folder, 'second.bin')).fileFor(0).idle();
  await outputs.nameFiles();
  expect((await readdir(folder)).toSorted()).toEqual(['first.bin', 'second.bin.part']);
  await outputs.close();
});

it('a commit is due when the files that grow have 20 items each on average', async () => {
  const folder = await temporaryFolder();
  const limits = { maxHeldBytes: 1e9, committedBytes: 1e9, committedItems: 20 };
  const outputs = outputsIn(folder, nodeFileSystem, { ...heldFormat, wholeFiles: limits });
  const dueAfter = (names: readonly string[]) => {
    for (let items = 1; items <= 100; items++) {
      outputs.open(path.join(folder, names[items % names.length]!)).add(Buffer.alloc(1));
      if (outputs.takeFilled()) return items;
    }
    return undefined;
  };
  expect(dueAfter(['a', 'b', 'c'])).toBe(60);
  await outputs.settle();
  expect(dueAfter(['d'])).toBe(20);
  await outputs.close();
});
