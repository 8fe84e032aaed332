import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** This many rounds take a few milliseconds on an idle machine. */
const ROUNDS = 2_000_000;
const BYTES = Buffer.alloc(64 * 1024, 1);

/**
 * A constant amount of work. The work takes longer only if other processes use the CPU or the disk.
 */
export class FixedWork implements Disposable {
  readonly #folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-work-'));
  readonly #file = openSync(path.join(this.#folder, 'file'), 'w');

  constructor() {
    // The first round is slower because its code is still being compiled.
    this.measure();
  }

  measure(): { readonly cpuMs: number; readonly diskMs: number } {
    const started = performance.now();
    let sum = 0;
    for (let round = 0; round < ROUNDS; round++) sum = (sum * 31 + round) | 0;
    const worked = performance.now();
    // Writes the sum, so that the compiler cannot remove the loop.
    writeSync(this.#file, BYTES, 0, BYTES.length, sum & 0xfff);
    fdatasyncSync(this.#file);
    return { cpuMs: worked - started, diskMs: performance.now() - worked };
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
