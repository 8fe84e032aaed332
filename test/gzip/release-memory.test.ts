import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { releaseMemory } from '../../src/gzip/release-memory.js';
import { compiled } from '../compiled.js';

const { header } = process.report.getReport() as {
  readonly header: { readonly glibcVersionRuntime?: string };
};

describe('releaseMemory', () => {
  it('empties a buffer and all its views', () => {
    const bytes = Buffer.allocUnsafeSlow(100_000);
    const view = bytes.subarray(10, 20);
    releaseMemory(bytes);
    expect([bytes.length, view.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
  });

  it('may be called twice for the same buffer', () => {
    const bytes = Buffer.allocUnsafeSlow(100_000);
    releaseMemory(bytes);
    expect(() => releaseMemory(bytes)).not.toThrow();
  });

  it('does not release memory that other buffers share', () => {
    const small = Buffer.from('one of many small buffers');
    const neighbour = Buffer.from('another');
    releaseMemory(small);
    expect([small.toString(), neighbour.toString()]).toEqual([
      'one of many small buffers',
      'another',
    ]);
  });

  it('does not release memory of which the array is less than half', () => {
    const memory = Buffer.alloc(1_000, 'x');
    releaseMemory(memory.subarray(0, 499));
    expect(String(memory.subarray(990))).toBe('xxxxxxxxxx');
  });

  it('does not release memory that threads share', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(10));
    releaseMemory(shared);
    expect(shared.length).toBe(10);
  });

  // This test checks the mmap threshold of glibc's allocator. Other allocators have no such
  // threshold.
  it.runIf(header.glibcVersionRuntime !== undefined)(
    'lets the process reuse large blocks without page faults',
    async () => {
      const script = compiled(path.join(import.meta.dirname, 'release-memory-child.ts'));
      const { stdout } = await promisify(execFile)(process.execPath, [script]);
      const { faults, pages } = JSON.parse(stdout);
      expect(faults).toBeLessThan(pages / 4);
    },
  );
});
