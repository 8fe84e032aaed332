import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { releaseMemory, SharedMemory } from '../../src/gzip/release-memory.js';
import { compiled } from '../compiled.js';

const { header } = process.report.getReport() as {
  readonly header: { readonly glibcVersionRuntime?: string };
};

describe('releaseMemory', () => {
  it('empties bytes and all views of them, and may be called again', () => {
    const bytes = Buffer.allocUnsafeSlow(100_000);
    const view = bytes.subarray(10, 20);
    releaseMemory(bytes);
    expect([bytes.length, view.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
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

  it('does not release memory that threads share', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(10));
    releaseMemory(shared);
    expect(shared.length).toBe(10);
  });

  // The allocators of other systems decide for themselves.
  it.runIf(header.glibcVersionRuntime !== undefined)(
    'keeps large blocks for the process, which takes them again without page faults',
    async () => {
      const script = compiled(path.join(import.meta.dirname, 'release-memory-child.ts'));
      const { stdout } = await promisify(execFile)(process.execPath, [script]);
      const { faults, pages } = JSON.parse(stdout);
      expect(faults).toBeLessThan(pages / 4);
    },
  );
});

describe('shared memory', () => {
  it('is released once, when its owner and all readers are done, in any order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 }).chain(readers =>
          fc.record({
            readers: fc.constant(readers),
            // The order of releases, with repetitions; the last number is the owner.
            callers: fc.array(fc.integer({ min: 0, max: readers }), { maxLength: 40 }),
          }),
        ),
        ({ readers, callers }) => {
          const memory = Buffer.allocUnsafeSlow(1000);
          const shared = new SharedMemory(memory);
          const releases = Array.from({ length: readers }, () => shared.share());
          const done = new Set<number>();
          for (const caller of callers) {
            if (caller < readers) releases[caller]!();
            else if (!done.has(readers)) shared.close();
            done.add(caller);
            expect(memory.length).toBe(done.size === readers + 1 ? 0 : 1000);
          }
        },
      ),
    );
  });
});
