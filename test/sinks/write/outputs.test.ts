import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { CheckpointFile } from '../../../src/sinks/commit/checkpoint-file.js';
import { Committer } from '../../../src/sinks/commit/committer.js';
import { linesFormat } from '../../../src/sinks/write/format.js';
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

async function open(folder: string, fs: FileSystem = nodeFileSystem) {
  const outputs = new Outputs(
    fs,
    {
      folder,
      reserved: [],
      claims: new Map(),
      only: undefined,
      compression: undefined,
      maxOpen: 4,
      maxOutputs: 10,
      maxBytes: undefined,
      progress: undefined,
      afterFailure: () => '',
      onFailure: () => {},
    },
    linesFormat({ encode: (line: Buffer) => line }),
  );
  const checkpoint = path.join(folder, 'checkpoint.json');
  const owner = { sink: { step: 'test' }, flow: [] };
  const store = await CheckpointFile.open(nodeFileSystem, { file: checkpoint, folder, owner });
  const committer = new Committer({
    store,
    before: undefined,
    members: [{ outputs, everyMs: 1, branch: undefined }],
    fail: error => outputs.fail(error),
  });
  /** Lets a thread write a line. It resolves, but later than the system's write, when `end` is called. */
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

it('a checkpoint counts only what is before its cursor where a later write of a thread ends first', async () => {
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

it('a checkpoint waits for all writes of threads before its cursor, after the first of them has ended', async () => {
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

it('a run whose lock was taken over commits nothing', async () => {
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

it('a part that was replaced by another file, even a longer one, is not committed', async () => {
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

it('outputs accept a write that ends between the lstat of a sync and its answer', async () => {
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
