import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { spawn } from '../child-processes.js';

const loader = createRequire(import.meta.url).resolve('tsx/esm');
const root = path.resolve(import.meta.dirname, '../..');

/** A script of this folder in a process of its own. */
export class Child {
  readonly process: ChildProcess;
  readonly lines: string[] = [];
  readonly #closed: Promise<unknown>;
  #wake: () => void = () => {};

  constructor(script: string, options: object) {
    const file = path.join(import.meta.dirname, script);
    // Without the wrapper of tsx, so that a signal reaches the script itself.
    this.process = spawn(
      process.execPath,
      ['--import', `file://${loader}`, file, JSON.stringify(options)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.json') },
      },
    );
    this.#closed = once(this.process, 'close').then(() => this.#wake());
    createInterface({ input: this.process.stdout! }).on('line', line => {
      this.lines.push(line);
      this.#wake();
    });
  }

  /** Waits for a line that begins so, or for the end of the process. */
  async line(start: string): Promise<string | undefined> {
    while (true) {
      const found = this.lines.find(line => line.startsWith(start));
      if (found !== undefined || this.process.exitCode !== null) return found;
      await Promise.race([
        this.#closed,
        new Promise<void>(resolve => {
          this.#wake = resolve;
        }),
      ]);
    }
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.#closed;
  }

  async closed(): Promise<number | null> {
    await this.#closed;
    return this.process.exitCode;
  }
}
