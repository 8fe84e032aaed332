import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { outputOf, spawn } from '../child-processes.js';

/** A script in a process of its own, which is started again each time a test kills it. */
export class RestartedScript {
  /** Resolves to what it printed when it has ended by itself; rejects if that was with an error. */
  readonly ended: Promise<string>;
  #child: ChildProcess | undefined;
  #isStopped = false;

  /**
   * @param script The path of its JavaScript.
   * @param work What it gets as its argument, as JSON.
   * @param pauseMs How long it is down after a kill.
   * @param end Kills it, for good.
   */
  constructor(script: string, work: unknown, pauseMs: () => number, end: AbortSignal) {
    const args = [script, JSON.stringify(work)];
    this.ended = this.#run(path.basename(script), args, pauseMs);
    // A test awaits it later.
    this.ended.catch(() => {});
    end.addEventListener('abort', () => void this.stop().catch(() => {}), { once: true });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Sends a signal, and says whether the script was there to get it. */
  signal(signal: NodeJS.Signals): boolean {
    return this.#child?.kill(signal) ?? false;
  }

  /** Kills it, for good. */
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
