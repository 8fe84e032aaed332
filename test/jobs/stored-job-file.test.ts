import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memoryBudget, receiveJobFile } from '../../src/jobs/stored-job-file.js';
import { unchecked } from '../unchecked.js';
import { servedFile, servedFiles } from './job-server.js';
import { download, start, stopServersAfterTests } from './local-job-files.js';

stopServersAfterTests();

describe('a downloaded job file', () => {
  it('is delivered through a temporary file if it is large', async () => {
    const noise = Array.from(
      { length: 60 },
      (_, i) => `{"id":${i},"text":"${randomBytes(100_000).toString('hex')}"}`,
    );
    const files = servedFiles(6).map((file, i) =>
      i === 2 ? servedFile(file.segment, noise) : file,
    );
    expect(files[2]!.gzip.length).toBeGreaterThan(4 * 1024 * 1024);
    const served = await start({ files });
    const { lines, error } = await download(served);
    expect(error).toBeUndefined();
    expect(lines.length).toBe(75);
    expect(lines).toEqual(served.lines);
  });
});

describe('the memory budget of job files', () => {
  it('gets the bytes of a file back only once, even if the file is released twice', () => {
    const take = memoryBudget(10);
    const release = take(6);
    expect(take(5)).toBeUndefined();
    release?.();
    release?.();
    expect(take(10)).toBeDefined();
    expect(take(1)).toBeUndefined();
  });

  it('gets the bytes of a file back if its connection breaks', async () => {
    const memory = { waiting: memoryBudget(10), inflated: memoryBudget(10) };
    const failure = new Error('The connection broke');
    const response = {
      headers: { 'content-length': '6' },
      rawBlocks: (async function* () {
        yield [Buffer.alloc(3)];
        throw failure;
      })(),
    };
    await expect(receiveJobFile(unchecked(response), memory, () => {})).rejects.toBe(failure);
    expect(memory.waiting(10)).toBeDefined();
  });
});
