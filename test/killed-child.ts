import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from './child-processes.js';

/** How a process ended: by `kill -9`, or by itself, without an error. */
export type Ended = 'killed' | 'done';

export interface ChildOptions {
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** A script in a process that a test or a trial kills. */
export class KilledChild {
  /** Resolves once it has printed `started`, or has ended. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  printed = '';
  errors = '';
  readonly #process: ChildProcess;

  /** @param script The path of its JavaScript. */
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

  /** The number of disk calls that a script has printed as its last line, and how many of them were of worker threads. */
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

/** A source of random numbers for a test or a trial. */
export interface Draws {
  next(): number;
  whole(min: number, max: number): number;
}

export interface KillUntilDone {
  start(): KilledChild;
  /** The first process is killed at a random time up to this. */
  readonly maxMs: number;
  /** After so many kills, a process is left to its end. @default any number */
  readonly maxKills?: number | undefined;
  /** Resolves when that time begins. @default when the script has printed `started` */
  begun?(child: KilledChild): Promise<unknown>;
  /** Runs one process to its end, and checks what it leaves. */
  attempt?(end: () => Promise<Ended>): Promise<Ended>;
  readonly random: Pick<Draws, 'next'>;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a script again and again, and kills it later each time, until a process ends by itself. */
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
  /** At any time, or just before a call that changes a file. */
  readonly kill: 'random' | 'disk call';
  /** Processes that are killed at a disk call. @default 2 */
  readonly kills?: number | undefined;
  readonly clean: CleanRun;
  /** @param dieAt The disk call before which the process kills itself. */
  start(dieAt?: number): KilledChild;
}

/** Starts a script again and again, kills it, and lets the last one end. */
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
  // Another machine load changes how long a whole run takes.
  if (kills === 0) clean.ms = (clean.ms + lastMs) / 2;
}
