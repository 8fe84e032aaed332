import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { restore } from '../../../src/sinks/commit/restore-files.js';
import { files, filesOn } from '../../../src/sinks/files.js';
import { nodeFileSystem } from '../../../src/storage/file-system.js';
import { PowerCut, SimulatedDisk } from '../../storage/simulated-disk.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { places } from '../cursors.js';

// A run waits if a crash has left an empty lock file. This mock ends the wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

it('a part file causes an error if it is one byte shorter than its checkpoint says', async () => {
  const file = path.join(await temporaryFolder(), 'out.jsonl');
  const counts = { path: file, posts: 1, bytes: 9, lineBytes: 9 };
  const checkpoint = { state: 'running', cursor: undefined, files: [counts] } as const;
  const restored = () => restore(nodeFileSystem, 'run.json', checkpoint, () => undefined);
  await writeFile(`${file}.part`, '{"id":1}');
  await expect(restored()).rejects.toThrow('has only 8 bytes');
  await writeFile(`${file}.part`, '{"id":1}\n');
  expect(await restored()).toEqual(new Set());
});

it('a part file is truncated if it is longer than its checkpoint says', async () => {
  const file = path.join(await temporaryFolder(), 'out.jsonl');
  const counts = { path: file, posts: 1, bytes: 9, lineBytes: 9 };
  const checkpoint = { state: 'running', cursor: undefined, files: [counts] } as const;
  await writeFile(`${file}.part`, '{"id":1}\n{"id":2}\n{"id"');
  expect(await restore(nodeFileSystem, 'run.json', checkpoint, () => undefined)).toEqual(new Set());
  expect(await readFile(`${file}.part`, 'utf8')).toBe('{"id":1}\n');
});

it('a finished file that has become smaller is filled up to `maxBytes` by the next incremental run', async () => {
  const folder = await temporaryFolder();
  const run = (batches: readonly (readonly string[])[]) =>
    pipeline(
      new Flow<string>(pull => places(batches).batches(pull), undefined, [
        { step: 'growing', incremental: true },
      ]),
      files({
        path: path.join(folder, 'out.txt'),
        checkpoint: path.join(folder, 'run.json'),
        maxBytes: 12,
        line: text => text,
      }),
    );
  await run([['one', 'two']]);
  // `applyCompliance` removes posts in this way.
  await writeFile(path.join(folder, 'out.0001.txt'), 'two\n');
  const { files: written } = await run([[], ['sun', 'sky', 'sea']]);
  expect(written.map(file => path.basename(file.path))).toEqual(['out.0001.txt', 'out.0002.txt']);
  expect(await readFile(path.join(folder, 'out.0001.txt'), 'utf8')).toBe('two\nsun\nsky\n');
  expect(await readFile(path.join(folder, 'out.0002.txt'), 'utf8')).toBe('sea\n');
});

describe('a file left under its final name by a crash', () => {
  const FILE = '/out/a.jsonl';
  const CHECKPOINT = '/state/run.json';
  const handedOn: number[] = [];
  const run = (disk: SimulatedDisk, hasOnFile: boolean) =>
    pipeline(
      places([[1], [2], [3]]),
      filesOn<number>(disk, {
        path: FILE,
        checkpoint: CHECKPOINT,
        ...(hasOnFile && { onFile: ({ bytes }) => void handedOn.push(bytes) }),
      }),
    );

  /**
   * Returns the disk of a run that was killed after it had renamed its file and before it wrote the
   * checkpoint.
   */
  async function renamed(hasOnFile: boolean): Promise<SimulatedDisk> {
    for (let cut = 1; ; cut++) {
      const disk = new SimulatedDisk();
      disk.cutAt = cut;
      await expect(run(disk, hasOnFile)).rejects.toBeInstanceOf(PowerCut);
      disk.keepAll();
      if (!disk.files().includes(FILE)) continue;
      expect(JSON.parse(String(disk.read(CHECKPOINT))).state).toBe('finishing');
      return disk;
    }
  }

  describe.each([
    ['with onFile', true],
    ['without onFile', false],
  ])('(%s)', (_, hasOnFile) => {
    it.each<[string, string, string]>([
      ['shorter', '1\n2\n', 'a.jsonl has only 4 bytes, but 6 of its bytes'],
      ['one byte longer', '1\n2\n3\n\n', 'a.jsonl has 7 bytes, but 6 of its bytes'],
    ])('causes an error if it is %s than the checkpoint says', async (_, text, message) => {
      const disk = await renamed(hasOnFile);
      disk.put(FILE, Buffer.from(text));
      const error = await run(disk, hasOnFile).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StorageError);
      expect(String(error)).toContain(message);
      expect(String(disk.read(FILE))).toBe(text);
    });

    it('is treated as finished if it has the size that the checkpoint says', async () => {
      const disk = await renamed(hasOnFile);
      handedOn.length = 0;
      expect(await run(disk, hasOnFile)).toMatchObject({ posts: 3, bytes: 6 });
      expect(handedOn).toEqual(hasOnFile ? [6] : []);
    });
  });

  it('causes an error if it is missing, unless a call of onFile may have moved it', async () => {
    const without = await renamed(false);
    without.remove(FILE);
    await expect(run(without, false)).rejects.toThrow(/is missing/);
    const moved = await renamed(true);
    moved.remove(FILE);
    expect(await run(moved, true)).toMatchObject({ posts: 3 });
  });
});
