import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';

export class Child {
  readonly process: ChildProcess;
  readonly lines: string[] = [];
  readonly #closed: Promise<unknown>;
  #hasClosed = false;
  #wake: () => void = () => {};

  constructor(script: string, options: object) {
    const file = compiled(path.join(import.meta.dirname, script));
    this.process = spawn(process.execPath, [file, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: this.process.stdout! }).on('line', line => {
      this.lines.push(line);
      this.#wake();
    });
    // At the `exit` event, some printed lines may still be unread, so this also waits for their
    // reader.
    this.#closed = Promise.all([once(this.process, 'close'), once(lines, 'close')]).then(() => {
      this.#hasClosed = true;
      this.#wake();
    });
  }

  /** Waits for a line that starts with this string, or for the end of the process. */
  async line(start: string): Promise<string | undefined> {
    while (true) {
      const found = this.lines.find(line => line.startsWith(start));
      if (found !== undefined || this.#hasClosed) return found;
      await Promise.race([
        this.#closed,
        new Promise<void>(resolve => {
          this.#wake = resolve;
        }),
      ]);
    }
  }

  /** Lets `publish-child.ts` continue after it has paused at the post `holdAt`. */
  release(): void {
    this.process.kill('SIGUSR2');
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
