import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { type Ended, spawn } from './child-processes.js';
import { compiled } from './compiled.js';

const MARK = '\0the script has ended\0';

export interface ScriptRun {
  readonly script: string;
  readonly args?: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

interface Running {
  readonly child: ChildProcess;
  /** Rejects when the process ends. Only a script can cause this. */
  readonly closed: Promise<never>;
}

/**
 * Runs scripts one after another in one process. The process loads the library and indexes the
 * posts of the local service only once, because this would take most of the time of a short script.
 * If a script changes its process permanently, it needs a separate process.
 */
export class ScriptRunner {
  #running: Promise<Running> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when the script has ended and no longer keeps anything open. */
  run(script: ScriptRun): Promise<Ended> {
    const ended = this.#last.then(() => this.#run(script));
    this.#last = ended.catch(() => {});
    return ended;
  }

  async #run({ script, args = [], cwd, env = process.env }: ScriptRun): Promise<Ended> {
    this.#running ??= this.#start();
    const { child, closed } = await this.#running;
    const answered = once(child, 'message') as Promise<[{ readonly code: number }]>;
    const printed = [child.stdout, child.stderr].map(stream => textUntilMark(stream as Readable));
    child.send({ script, args, cwd, env, mark: MARK });
    const [[{ code }], stdout = '', stderr = ''] = await Promise.race([
      Promise.all([answered, ...printed]),
      closed,
    ]);
    return { code, signal: null, stdout, stderr };
  }

  async #start(): Promise<Running> {
    const file = compiled(path.join(import.meta.dirname, 'run-scripts-child.ts'));
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const closed = once(child, 'close').then(() => {
      this.#running = undefined;
      throw new Error('A script has ended the process that runs all scripts');
    });
    closed.catch(() => {});
    await Promise.race([once(child, 'message'), closed]);
    return { child, closed };
  }
}

function textUntilMark(stream: Readable): Promise<string> {
  return new Promise(resolve => {
    let text = '';
    const read = (chunk: string) => {
      text += chunk;
      if (!text.endsWith(MARK)) return;
      stream.off('data', read);
      resolve(text.slice(0, -MARK.length));
    };
    stream.setEncoding('utf8').on('data', read);
  });
}
