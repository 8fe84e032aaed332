import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { freeMemory } from '../../src/gzip/free-memory.js';

const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
const glibc = header.glibcVersionRuntime !== undefined;

describe('freeMemory', () => {
  it('empties bytes and all views of them, and may be called again', () => {
    const bytes = Buffer.allocUnsafeSlow(100_000);
    const view = bytes.subarray(10, 20);
    freeMemory(bytes);
    expect([bytes.length, view.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
    expect(() => freeMemory(bytes)).not.toThrow();
  });

  it('leaves alone what shares its memory with other buffers', () => {
    const small = Buffer.from('one of many small buffers');
    const neighbour = Buffer.from('another');
    freeMemory(small);
    expect([small.toString(), neighbour.toString()]).toEqual([
      'one of many small buffers',
      'another',
    ]);
  });

  it('leaves alone memory that threads share', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(10));
    freeMemory(shared);
    expect(shared.length).toBe(10);
  });

  it.runIf(glibc)('leaves the pages with the process for the next block, where glibc is', () => {
    const script = path.join(import.meta.dirname, 'free-memory-child.ts');
    const args = ['--import', 'tsx', script, '20'];
    const faults = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
    // Taken anew each time, they would be 20 times 4,400.
    expect(faults).toBeLessThan(20_000);
  });
});
