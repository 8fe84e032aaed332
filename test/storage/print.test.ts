import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { print } from '../../src/storage/print.js';

const failing = (code: string) =>
  new Writable({
    write(_, __, done) {
      done(Object.assign(new Error(`${code}: no`), { code }));
    },
  });

describe('print', () => {
  it('resolves when the string is written, and leaves no listener', async () => {
    const chunks: string[] = [];
    const stream = new Writable({
      write(chunk, _, done) {
        chunks.push(String(chunk));
        done();
      },
    });
    await print(stream, 'text\n', 'a stream');
    expect(chunks).toEqual(['text\n']);
    expect(stream.listenerCount('error')).toBe(0);
  });

  it('resolves when the reader has closed the pipe', async () => {
    await expect(print(failing('EPIPE'), 'text', 'a stream')).resolves.toBeUndefined();
  });

  it('rejects with the name of a stream that fails', async () => {
    const printing = print(failing('ENOSPC'), 'text', 'standard output');
    await expect(printing).rejects.toThrow(StorageError);
    await expect(printing).rejects.toThrow('Could not write to standard output: ENOSPC: no');
  });
});
