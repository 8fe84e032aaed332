import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
// Of the library without a mistake.
import { openTombstones, type Tombstones } from '../../../src/compliance/tombstones.js';
import { spawn } from '../../child-processes.js';
import type { Counts, Trial } from '../part.js';
import type { BundledChild } from './bundle-child.js';
import { ComplianceEvents } from './compliance.js';
import type { ChildWork } from './pipeline-child.js';
import { RowRun, type Target } from './run-row.js';
import { NOW } from './windows.js';

/** What a child does when nothing kills it. */
export interface CleanChild {
  readonly bundle: BundledChild;
  readonly diskCalls: number;
  /** From its first line to its end, about. */
  ms: number;
}

/** Each item takes so long, so that a kill is mostly in the middle. */
const PACE_MS = 1;
const DISK_CALL_KILLS = 2;

/** Runs the script in a process, kills it again and again, and lets the last one end. */
export async function tryKills(
  { row, fault, library, cache }: Target,
  clean: CleanChild,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const { bundle, diskCalls } = clean;
  const run = await RowRun.open(row, { folder, cache, library });
  try {
    await run.watchRequests();
    let kills = 0;
    let committed = 0;
    /** Each process requests only what the ones before it have not committed. */
    const tryChild = async (end: () => Promise<'killed' | 'done'>) => {
      const ended = await run.mustRequestTheRest(end);
      if (ended === 'killed') {
        kills++;
        committed += await run.mustBeExact();
      }
      return ended;
    };
    if (fault.kill === 'disk call') {
      for (let times = 0; times < DISK_CALL_KILLS; times++)
        await tryChild(() => new Child(run, bundle, random.whole(1, diskCalls)).end());
      await tryChild(() => new Child(run, bundle).end());
    } else {
      // Each is killed later than the one before, so that every series ends.
      for (let wait = clean.ms; ; wait *= 1.4) {
        signal.throwIfAborted();
        let started = 0;
        const ended = await tryChild(async () => {
          const child = new Child(run, bundle);
          await child.started;
          started = performance.now();
          const late = sleep(random.next() * wait, 'late');
          if ((await Promise.race([child.ended, late])) === 'late') child.kill();
          return child.end();
        });
        if (ended === 'killed') continue;
        // Another machine load changes how long a whole run takes.
        if (kills === 0) clean.ms = (clean.ms + performance.now() - started) / 2;
        break;
      }
    }
    return { hits: kills, kills, committed, items: await run.mustBeComplete() };
  } finally {
    await run.close();
  }
}

/** The compliance stream has no end: the last process is killed when all events are there. */
export async function killCompliance(
  { row, library, cache }: Target,
  bundle: BundledChild,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library });
  const events = new ComplianceEvents(run.world, random);
  try {
    const kills = random.whole(1, 3);
    for (let times = 0; times < kills; times++) {
      const child = new Child(run, bundle);
      await child.started;
      events.burst();
      await sleep(random.next() * 150);
      child.kill();
      await child.end();
    }
    const last = new Child(run, bundle);
    const store = path.join(run.out, 'tombstones');
    await last.recorded;
    let tombstones: Tombstones | undefined = await openTombstones(store, { readOnly: true });
    const over = new AbortController();
    const failed = last.ended.then(() => {
      throw new Error(`The stream ended: ${last.errors}`);
    });
    failed.catch(() => {});
    try {
      const ended = AbortSignal.any([signal, over.signal]);
      await Promise.race([events.arrive(() => tombstones, ended), failed]);
    } finally {
      over.abort();
      const opened = tombstones;
      tombstones = undefined;
      await opened.close();
    }
    last.kill();
    await last.end();
    await events.mustBeIn(store, []);
    return { hits: kills, kills: kills + 1, items: events.count };
  } finally {
    await run.close();
  }
}

/** What a child does that nothing kills. */
export async function cleanChild(run: RowRun, bundle: BundledChild): Promise<CleanChild> {
  const child = new Child(run, bundle);
  await child.started;
  const started = performance.now();
  await child.end();
  const ms = performance.now() - started;
  await run.mustBeComplete();
  const { calls } = JSON.parse(child.printed.trim().split('\n').at(-1) ?? '') as { calls: number };
  return { bundle, diskCalls: calls, ms };
}

class Child {
  /** Resolves with its first line. */
  readonly started: Promise<void>;
  /** Resolves once a compliance stream has its store. */
  readonly recorded: Promise<void>;
  readonly ended: Promise<void>;
  printed = '';
  errors = '';
  readonly #process: ChildProcess;

  constructor(run: RowRun, { script, library }: BundledChild, dieAt?: number) {
    const work: ChildWork = {
      row: run.row.name,
      library: library.href,
      addresses: run.world.clientAddresses as Record<string, string>,
      ...{ out: run.out, input: run.prepared.input, now: NOW, paceMs: PACE_MS, dieAt },
    };
    this.#process = spawn(process.execPath, [script, JSON.stringify(work)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.#process;
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.ended = new Promise(resolve => this.#process.on('close', () => resolve()));
    const told = (word: string) =>
      new Promise<void>(resolve => {
        stdout?.on('data', () => {
          if (this.printed.includes(word)) resolve();
        });
        this.#process.on('close', () => resolve());
      });
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text;
    });
    this.started = told('started');
    this.recorded = told('tombstones');
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  async end(): Promise<'killed' | 'done'> {
    await this.ended;
    if (this.#process.signalCode === 'SIGKILL') return 'killed';
    if (this.#process.exitCode === 0) return 'done';
    throw new Error(`The script ended with ${this.#process.exitCode}: ${this.errors}`);
  }
}
