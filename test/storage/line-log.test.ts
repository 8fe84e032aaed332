import { open, readFile, writeFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { LineLog } from '../../src/storage/line-log.js';
import { temporaryFolder } from '../temporary-folder.js';

it('LineLog removes a line that a crash has cut off before it appends the next line', async () => {
  const file = `${await temporaryFolder()}/log`;
  await writeFile(file, '{"n":1}\n{"n":2,"long":"which a crash has cut');
  const log = new LineLog<{ n: number }>(file);
  expect(await log.read()).toEqual([{ n: 1 }]);
  await log.append({ n: 3 });
  expect(await readFile(file, 'utf8')).toBe('{"n":1}\n{"n":3}\n');
});

it('LineLog removes the bytes of a failed append before it appends again', async () => {
  const file = `${await temporaryFolder()}/log`;
  const log = new LineLog<{ n: number; long?: string }>(file);
  await log.append({ n: 1 });
  const probe = await open(file, 'r');
  const sync = vi.spyOn(Object.getPrototypeOf(probe) as typeof probe, 'datasync');
  await probe.close();
  try {
    sync.mockRejectedValueOnce(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    await expect(log.append({ n: 2, long: 'a line that is longer than the next' })).rejects.toThrow(
      'i/o error',
    );
  } finally {
    sync.mockRestore();
  }
  await log.append({ n: 3 });
  expect(await readFile(file, 'utf8')).toBe('{"n":1}\n{"n":3}\n');
});

it('LineLog appends a line to the new lines after all lines were replaced', async () => {
  const file = `${await temporaryFolder()}/log`;
  const log = new LineLog<{ n: number }>(file);
  for (let n = 1; n <= 3; n++) await log.append({ n });
  await log.replace([{ n: 4 }]);
  await log.append({ n: 5 });
  expect(await readFile(file, 'utf8')).toBe('{"n":4}\n{"n":5}\n');
});
