import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { outputOf, spawn } from '../child-processes.js';

export class RestartedScript {
  /** Resolves to the script's output when it ends by itself. Rejects if it fails. */
  readonly ended: Promise<string>;
  #child: ChildProcess | undefined;
  #isStopped = false;

  /**
   * @param script The path of the compiled script.
   * @param work The argument of the script, passed as JSON.
   * @param pauseMs Returns how long to wait before a restart.
   * @param end Kills the script permanently.
   */
  constructor(script: string, work: unknown, pauseMs: () => number, end: AbortSignal) {
    const args = [script, JSON.stringify(work)];
    this.ended = this.#run(path.basename(script), args, pauseMs);
    // Prevents an unhandled rejection until the test awaits this promise.
    this.ended.catch(() => {});
    end.addEventListener('abort', () => void this.stop().catch(() => {}), { once: true });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  signal(signal: NodeJS.Signals): boolean {
    return this.#child?.kill(signal) ?? false;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.signal('SIGKILL');
    await this.ended;
  }

  async #run(script: string, args: readonly string[], pauseMs: () => number): Promise<string> {
    while (!this.#isStopped) {
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      this.#child = child;
      const { code, signal, stdout, stderr } = await outputOf(child);
      this.#child = undefined;
      if (code === 0) return stdout;
      if (signal !== 'SIGKILL')
        throw new Error(`${script} ended with ${code ?? signal}:\n${stderr}`);
      if (!this.#isStopped) await wait(pauseMs());
    }
    return '';
  }
}
