import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from './child-processes.js';

export type Ended = 'killed' | 'done';

export interface ChildOptions {
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

export class KilledChild {
  /** Resolves when the script has printed `started` or has ended. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  printed = '';
  errors = '';
  readonly #process: ChildProcess;

  constructor(script: string, args: readonly string[], { cwd, env }: ChildOptions = {}) {
    this.#process = spawn(process.execPath, [script, ...args], {
      cwd,
      env,
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

  /** Resolves when the script has printed this word or has ended. */
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

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
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

  /**
   * The number of disk calls, which a script prints in its last line, and how many of these calls
   * were made by worker threads.
   */
  get disk(): {
    readonly calls: number;
    readonly threadWrites?: number;
    readonly threadMessages?: number;
  } {
    return JSON.parse(this.printed.trim().split('\n').at(-1) ?? '');
  }
}

export interface CleanRun {
  readonly diskCalls: number;
  /** The approximate time from the first line that the process prints to its end. */
  ms: number;
}

export interface Draws {
  next(): number;
  whole(min: number, max: number): number;
}

export interface KillUntilDone {
  start(): KilledChild;
  /** The first process is killed at a random time, at the latest after this many milliseconds. */
  readonly maxMs: number;
  /** After this many kills, the next process runs to its end. @default any number */
  readonly maxKills?: number | undefined;
  /**
   * Resolves when the process is ready. Only then does the random time until its kill start.
   * @default when the script has printed `started`
   */
  begun?(child: KilledChild): Promise<unknown>;
  attempt?(end: () => Promise<Ended>): Promise<Ended>;
  readonly random: Pick<Draws, 'next'>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts a script repeatedly, and kills it after a random time. The maximum of this time increases
 * with each kill. Stops when a process has ended by itself.
 */
export async function killUntilDone({
  start,
  maxMs,
  maxKills = Number.POSITIVE_INFINITY,
  begun = child => child.started,
  attempt = end => end(),
  random,
  signal,
}: KillUntilDone): Promise<{ readonly kills: number; readonly lastMs: number }> {
  for (let wait = maxMs, kills = 0; ; wait *= 1.4, kills++) {
    signal?.throwIfAborted();
    let started = 0;
    const ended = await attempt(async () => {
      const child = start();
      if (kills >= maxKills) return child.end();
      await begun(child);
      started = performance.now();
      const late = sleep(random.next() * wait, 'late');
      if ((await Promise.race([child.ended, late])) === 'late') child.kill();
      return child.end();
    });
    if (ended === 'done') return { kills, lastMs: performance.now() - started };
  }
}

export interface Killing extends Required<Pick<KillUntilDone, 'attempt'>> {
  readonly kill: 'random' | 'disk call';
  /** The number of processes that are killed at a disk call. @default 2 */
  readonly kills?: number | undefined;
  readonly clean: CleanRun;
  /** @param dieAt The process kills itself before this disk call. The first call is 1. */
  start(dieAt?: number): KilledChild;
}

export async function killAgainAndAgain(
  { kill, kills: wanted = 2, clean, start, attempt }: Killing,
  { random, signal }: { readonly random: Draws; readonly signal: AbortSignal },
): Promise<void> {
  if (kill === 'disk call') {
    for (let times = 0; times < wanted; times++)
      await attempt(() => start(random.whole(1, clean.diskCalls)).end());
    await attempt(() => start().end());
    return;
  }
  const { kills, lastMs } = await killUntilDone({
    start: () => start(),
    maxMs: clean.ms,
    attempt,
    random,
    signal,
  });
  // Adjusts the estimate for the time of a whole run, because the load of the machine may have
  // changed.
  if (kills === 0) clean.ms = (clean.ms + lastMs) / 2;
}
