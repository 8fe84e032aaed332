import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { storageError, withStorageError } from '../../src/storage/storage-error.js';

describe('storageError', () => {
  it('contains the file and the cause', async () => {
    const error = await withStorageError('read', '/', () => readFile('/', 'utf8')).catch(e => e);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ path: '/', cause: { code: 'EISDIR' } });
    expect(error.message).toMatch(/^Could not read \/: .*A folder has that name/);
  });

  it.each(['EACCES', 'EPERM', 'ENOENT'])(
    'contains no advice about writing if a read failed (%s)',
    code => {
      const cause = Object.assign(new Error('refused'), { code });
      const error = storageError('read the checkpoint', 'a.json', cause) as StorageError;
      expect(error.message).toMatch(/^Could not read the checkpoint a\.json: refused\. /);
      expect(error.message).not.toMatch(/write|folder is gone|See the cause/);
      expect((storageError('write', 'a.json', cause) as StorageError).message).not.toMatch(
        /to read/,
      );
    },
  );

  it.each([
    ['its own reason', new Error('enough')],
    ['the default reason', AbortSignal.abort().reason],
    ['a timeout', new DOMException('too late', 'TimeoutError')],
  ])('returns the reason of an abort unchanged: %s', async (_, reason) => {
    const signal = AbortSignal.abort(reason);
    const aborted = withStorageError('read', '/', async () => signal.throwIfAborted());
    await expect(aborted).rejects.toBe(reason);
  });

  it('returns the AbortError of a Node call unchanged', async () => {
    const call = () => readFile(import.meta.filename, { signal: AbortSignal.abort() });
    await expect(withStorageError('read', 'it', call)).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});
