import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from '../../child-processes.js';
import type { Trial } from '../part.js';

/** How a process ended: by `kill -9`, or by itself, without an error. */
export type Ended = 'killed' | 'done';

/** A script in a process that a trial kills. It prints `started` before it opens anything. */
export class KilledChild {
  /** Resolves with its first line. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  printed = '';
  errors = '';
  readonly #process: ChildProcess;

  /** @param work What the script gets as its argument, as JSON. */
  constructor(script: string, work: unknown) {
    this.#process = spawn(process.execPath, [script, JSON.stringify(work)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.#process;
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.ended = new Promise(resolve => this.#process.on('close', () => resolve()));
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text;
    });
    this.started = this.told('started');
  }

  /** Resolves once it has printed this, or has ended. */
  told(word: string): Promise<void> {
    return new Promise<void>(resolve => {
      const look = () => {
        if (this.printed.includes(word)) resolve();
      };
      look();
      this.#process.stdout?.on('data', look);
      this.#process.on('close', () => resolve());
    });
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  async end(): Promise<Ended> {
    await this.ended;
    if (this.#process.signalCode === 'SIGKILL') return 'killed';
    if (this.#process.exitCode === 0) return 'done';
    throw new Error(`The script ended with ${this.#process.exitCode}: ${this.errors}`);
  }

  /** The number of disk calls that a script prints as its last line, and how many of them were of worker threads. */
  get disk(): {
    readonly calls: number;
    readonly threadWrites?: number;
    readonly threadMessages?: number;
  } {
    return JSON.parse(this.printed.trim().split('\n').at(-1) ?? '');
  }
}

/** What a script does that nothing kills. */
export interface CleanRun {
  readonly diskCalls: number;
  /** From its first line to its end, about. */
  ms: number;
}

export interface Killing {
  /** At any time, or just before a call that changes a file. */
  readonly kill: 'random' | 'disk call';
  readonly clean: CleanRun;
  /** @param dieAt The disk call before which the process kills itself. */
  start(dieAt?: number): KilledChild;
  /** Runs one process to its end, and checks what it leaves. */
  attempt(end: () => Promise<Ended>): Promise<Ended>;
}

const DISK_CALL_KILLS = 2;

/** Starts a script again and again, kills it, and lets the last one end. */
export async function killAgainAndAgain(
  { kill, clean, start, attempt }: Killing,
  { random, signal }: Pick<Trial, 'random' | 'signal'>,
): Promise<void> {
  if (kill === 'disk call') {
    for (let times = 0; times < DISK_CALL_KILLS; times++)
      await attempt(() => start(random.whole(1, clean.diskCalls)).end());
    await attempt(() => start().end());
    return;
  }
  // Each is killed later than the one before, so that every series ends.
  for (let wait = clean.ms, kills = 0; ; wait *= 1.4, kills++) {
    signal.throwIfAborted();
    let started = 0;
    const ended = await attempt(async () => {
      const child = start();
      await child.started;
      started = performance.now();
      const late = sleep(random.next() * wait, 'late');
      if ((await Promise.race([child.ended, late])) === 'late') child.kill();
      return child.end();
    });
    if (ended === 'killed') continue;
    // Another machine load changes how long a whole run takes.
    if (kills === 0) clean.ms = (clean.ms + performance.now() - started) / 2;
    return;
  }
}
