import { type FileHandle, open, readdir, readlink, rm } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { ReplaySpool } from '../../src/replay/replay-spool.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

async function readAll(spool: ReplaySpool): Promise<string[]> {
  const read: string[] = [];
  for await (const records of spool.read()) for (const record of records) read.push(`${record}`);
  return read;
}

const blocks = fc.array(
  fc.array(
    fc.record({
      record: fc
        .json({ noUnicodeString: false })
        .map(json => Buffer.from(`{"value":${json.replaceAll('\r', ' ')}}`)),
      gap: fc.constantFrom('\r\n', '\r\n\r\n', '\r\n ', '', '\n\n', '\r \n', '\r\n{"info":1}\r\n'),
      own: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  { maxLength: 6 },
);

describe('ReplaySpool, the disk buffer of a replay,', () => {
  it('returns every record unchanged, from memory or disk', async () => {
    await fc.assert(
      fc.asyncProperty(blocks, fc.nat(600), async (batches, maxMemory) => {
        const spool = new ReplaySpool(folder, maxMemory);
        const expected: string[] = [];
        for (const batch of batches) {
          const block = Buffer.concat(
            batch.flatMap(({ record, gap }) => [record, Buffer.from(gap)]),
          );
          let at = 0;
          const records = batch.map(({ record, gap, own }) => {
            const view = block.subarray(at, at + record.length);
            at += record.length + Buffer.byteLength(gap);
            return own ? record : view;
          });
          await spool.add(records);
          expected.push(...records.map(String));
        }
        expect(await readAll(spool)).toEqual(expected);
        await spool.close();
      }),
      { numRuns: bySuite(17, 800) },
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('writes more records at a time than one system call accepts', async () => {
    const spool = new ReplaySpool(folder, 0);
    const records = Array.from({ length: 5_000 }, (_, i) => Buffer.from(`{"n":${i}}`));
    await spool.add(records);
    expect(spool.spilled).toBe(true);
    expect(await readAll(spool)).toEqual(records.map(String));
    await spool.close();
  });

  it('accepts records while it writes earlier ones, and keeps the order of the records', async () => {
    const spool = new ReplaySpool(folder, 1_000);
    const records = Array.from({ length: 300 }, (_, i) =>
      Buffer.from(`{"n":${i},"text":"${'x'.repeat(i * 997)}"}`),
    );
    let waited = 0;
    for (const record of records) {
      let added = false;
      const adding = spool.add([record]).then(() => {
        added = true;
      });
      await null;
      await null;
      if (!added) waited++;
      await adding;
    }
    expect(await readAll(spool)).toEqual(records.map(String));
    await spool.close();
    // The input has 44 MB, and up to 8 MiB of it may be pending.
    expect(waited).toBeGreaterThan(0);
    expect(waited).toBeLessThan(300);
  });

  it('does not lose a record that arrives at the moment when a write ends', async () => {
    const probe = await open(path.join(folder, 'probe'), 'w');
    const handles = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    await rm(path.join(folder, 'probe'));
    const { writev } = handles;
    for (let ticks = 0; ticks < 20; ticks++) {
      const spool = new ReplaySpool(folder, 0);
      let second: Promise<void> | undefined;
      const addSecond = async () => {
        for (let tick = 0; tick < ticks; tick++) await null;
        await spool.add([Buffer.from('{"n":2}')]);
      };
      const spied = vi.spyOn(handles, 'writev').mockImplementation(async function (
        this: FileHandle,
        ...args
      ) {
        const written = await writev.apply(this, args);
        second ??= addSecond();
        return written;
      });
      await spool.add([Buffer.from('{"n":1}')]);
      await vi.waitUntil(() => second !== undefined, { timeout: 60_000 });
      await second;
      spied.mockRestore();
      expect(await readAll(spool)).toEqual(['{"n":1}', '{"n":2}']);
      await spool.close();
    }
  });

  it('reports a disk error to the next caller, and can still be closed', async () => {
    const gone = path.join(folder, 'gone');
    const record = Buffer.from('{"n":1}');
    const spool = new ReplaySpool(gone, 0);
    await spool.add([record]);
    const add = () => spool.add([record]).then(() => '', String);
    await expect.poll(add).toContain(`Could not store a replay in ${gone}`);
    await expect(readAll(spool)).rejects.toThrow(StorageError);
    await spool.close();
  });

  it('keeps the records before and after an empty batch', async () => {
    const spool = new ReplaySpool(folder, 0);
    await spool.add([Buffer.from('{"n":1}')]);
    await new Promise(resolve => setTimeout(resolve, 20));
    await spool.add([]);
    await spool.add([Buffer.from('{"n":2}')]);
    expect(await readAll(spool)).toEqual(['{"n":1}', '{"n":2}']);
    await spool.close();
  });

  it('accepts no records after it is closed', async () => {
    const spool = new ReplaySpool(folder, 0);
    await spool.close();
    await spool.add([Buffer.from('{"n":1}')]);
    expect(await readAll(spool)).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('keeps no file open after it is closed', async () => {
    const openFiles = async () => {
      const names = await readdir('/proc/self/fd');
      const targets = await Promise.all(
        names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')),
      );
      return targets.filter(target => target.startsWith(folder));
    };
    const spool = new ReplaySpool(folder, 0);
    await spool.add([Buffer.from('{"n":1}')]);
    expect(await readAll(spool)).toEqual(['{"n":1}']);
    expect(await openFiles()).toHaveLength(1);
    await spool.close();
    expect(await openFiles()).toEqual([]);
  });

  it('leaves no file when it is closed with pending records', async () => {
    const spool = new ReplaySpool(folder, 0);
    for (let n = 0; n < 50; n++) await spool.add([Buffer.alloc(100_000, 'x')]);
    await spool.close();
    expect(await readdir(folder)).toEqual([]);
  });
});
