import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { outputOf, spawn } from '../../child-processes.js';
import { keptByLmdb } from './kept-by-lmdb.js';
import { stdoutOf } from './system-calls.js';

export type LmdbFault = 'kill' | 'ENOSPC' | 'EIO';

export interface FailOptions {
  readonly library: URL;
  readonly folder: string;
  readonly seed: number;
  readonly fault: LmdbFault;
  /** Selects the system calls that fail, such as `writev 3`. @default all calls */
  readonly isTried?: ((call: string) => boolean) | undefined;
  readonly scripts?: string | undefined;
}

export interface Failed {
  /** The number of faults that took effect. */
  readonly hits: number;
  readonly errors: number;
  /**
   * The number of faults after which LMDB crashed the process while it opened the file, for example
   * with SIGSEGV.
   */
  readonly crashes: number;
}

interface Run {
  readonly call: string;
  readonly folder: string;
  readonly lines: readonly string[];
  readonly signal: string | null;
  readonly code: number | null;
  readonly stderr: string;
  readonly hits: number;
}

export interface Left {
  readonly what: string;
  readonly folder: string;
  /** The last step whose promise had resolved. */
  readonly resolved: number;
}

const CHANGES = ['mkdir', 'ftruncate', 'write', 'writev', 'pwrite64', 'pwritev', 'fsync'];
const MORE_CHANGES = ['fdatasync', 'msync', 'link', 'linkat', 'openat'];
const REMOVALS = ['unlink', 'unlinkat', 'rmdir'];
const READS = ['read', 'readv', 'pread64', 'statx', 'stat', 'lstat'];
const OTHER_READS = ['getdents64', 'access', 'faccessat', 'faccessat2'];
const MAY_FAIL: Readonly<Record<LmdbFault, readonly string[]>> = {
  kill: [...CHANGES, ...MORE_CHANGES, ...REMOVALS],
  ENOSPC: [...CHANGES, ...MORE_CHANGES],
  EIO: [...CHANGES, ...MORE_CHANGES, ...REMOVALS, ...READS, ...OTHER_READS],
};
const PARALLEL = 2;
const HANGS_MS = 90_000;
const REASON = /ENOSPC|EIO|No space left on device|Input\/output error/;

/**
 * For every system call, runs a process that writes to a file of LMDB. In that process, the call
 * fails, or the process is killed before it. Throws if an error is not one of the library's, or
 * does not say what failed and why. Throws if a call hangs, or if a process that retries does not
 * complete. Throws if the next process does not find all resolved steps, or cannot continue.
 */
export async function failLmdb(name: string, options: FailOptions): Promise<Failed> {
  const { fault, seed, isTried = () => true } = options;
  const whole = await run(name, options, { inject: undefined, after: 'again', number: 0 });
  mustBe(whole, whole.lines.at(-1)?.startsWith('end ') === true, 'It fails without a fault');
  const trace = await readFile(path.join(options.folder, 'trace-0'), 'latin1');
  const targets = targetsOf(trace, fault).filter(isTried);
  const runs: Run[] = [];
  let next = 0;
  const work = async () => {
    while (next < targets.length) {
      const index = next++;
      const [call = '', at] = (targets[index] as string).split(' ');
      const given = fault === 'kill' ? 'signal=KILL' : `error=${fault}`;
      const made = await run(name, options, {
        inject: `${call}:${given}:when=${at}`,
        // Over two consecutive seeds, each call is tried with both values of `after`.
        after: (index + seed) % 2 === 0 ? 'again' : 'end',
        number: index + 1,
      });
      runs.push({ ...made, call: targets[index] as string });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  const hit = runs.filter(({ hits }) => hits > 0);
  const crashes = hit.filter(one => hasCrashed(one, fault));
  for (const one of hit) if (!crashes.includes(one)) mustHaveEnded(one, fault);
  await mustGoOn(name, options, hit);
  const errors = hit.filter(({ lines }) => lines.some(line => line.startsWith('failed ')));
  return { hits: hit.length, errors: errors.length, crashes: crashes.length };
}

/**
 * Returns the calls to try. `writev 3` is the third `writev` of a thread, so two threads may both
 * have such a call.
 */
function targetsOf(trace: string, fault: LmdbFault): readonly string[] {
  const counts = new Map<string, number>();
  const targets = new Set<string>();
  for (const line of trace.split('\n')) {
    const [, thread, call = '', given = ''] = /^(\d+) +(\w+)\((.*)/.exec(line) ?? [];
    if (!MAY_FAIL[fault].includes(call)) continue;
    const count = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, count);
    // Opening an existing file changes nothing, so only `EIO` applies to it.
    if (call === 'openat' && fault !== 'EIO' && !given.includes('O_CREAT')) continue;
    targets.add(`${call} ${count}`);
  }
  return [...targets];
}

async function run(
  name: string,
  { library, folder, seed, fault, scripts = import.meta.dirname }: FailOptions,
  {
    inject,
    after,
    number,
  }: { readonly inject: string | undefined; readonly after: string; readonly number: number },
): Promise<Run> {
  const root = path.join(folder, `run-${number}`);
  await mkdir(root);
  const output = path.join(folder, `trace-${number}`);
  const data = path.join(root, keptByLmdb(name).folder);
  const [call] = inject?.split(':') ?? [];
  const child = spawn(
    'strace',
    [
      // Kills run without `--seccomp-bpf`, because strace would lose the signal that it injects.
      ...['-f', ...(fault === 'kill' ? [] : ['--seccomp-bpf']), '-s', '0', '-o', output],
      ...pathsOf(root, data).flatMap(one => ['-P', one]),
      ...['-e', `trace=${call ?? MAY_FAIL[fault].map(one => `?${one}`).join(',')}`],
      ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
      ...[process.execPath, path.join(scripts, 'fail-lmdb-write-child.js')],
      ...[library.href, name, root, String(seed), after],
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      // strace counts the calls of each thread separately, so there is only one thread in the pool.
      env: { ...process.env, UV_USE_IO_URING: '0', UV_THREADPOOL_SIZE: '1' },
    },
  );
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, HANGS_MS);
  const { code, signal, stdout, stderr } = await outputOf(child);
  clearTimeout(timer);
  const lines = stdout.trimEnd().split('\n');
  const injected = (await readFile(output, 'latin1')).split('(INJECTED)').length - 1;
  const hits = signal === 'SIGKILL' && !hangs ? 1 : injected;
  const made = { call: '', folder: root, lines, signal, code, stderr, hits };
  mustBe({ ...made, call: inject ?? '' }, !hangs, 'It hangs');
  return made;
}

function pathsOf(root: string, data: string): readonly string[] {
  const asides = [1, 2, 3, 4].map(n => path.join(data, `new-${n}`));
  const folders = [data, ...asides, ...[data, ...asides].map(one => path.join(one, 'new-1'))];
  const above = path.dirname(data) === root ? [] : [path.dirname(data)];
  const files = folders.flatMap(one =>
    ['data.mdb', 'lock.mdb', 'room'].map(file => path.join(one, file)),
  );
  return [...new Set([...above, ...folders, ...files])];
}

/**
 * Returns whether LMDB crashed. If a call fails after the file is open, LMDB frees the same memory
 * twice, see `open-lmdb.ts`.
 */
function hasCrashed({ signal, lines }: Run, fault: LmdbFault): boolean {
  return (
    fault !== 'kill' &&
    ['SIGSEGV', 'SIGABRT', 'SIGBUS'].includes(signal ?? '') &&
    lines.at(-1) === 'begin open'
  );
}

function mustHaveEnded(one: Run, fault: LmdbFault): void {
  if (fault === 'kill') {
    mustBe(one, one.signal === 'SIGKILL', 'It was not killed');
    return;
  }
  for (const line of one.lines.filter(line => line.startsWith('failed '))) {
    const error = JSON.parse(line.slice('failed '.length)) as { [name: string]: string };
    mustBe(one, error.code === 'ERR_STORAGE', `Expected a StorageError, got ${line}`);
    const says = `${error.message}`;
    mustBe(one, says.includes(`${error.path}`), `The message does not say where: ${line}`);
    mustBe(one, REASON.test(says), `The message does not say why: ${line}`);
  }
  mustBe(one, one.code === 0 && /^end\b/.test(one.lines.at(-1) ?? ''), 'It has not ended in order');
}

function mustBe({ call, lines, signal, code, stderr }: Run, isSo: boolean, what: string): void {
  if (isSo) return;
  const end = lines.slice(-3).join(' | ');
  throw new Error(`${call}: ${what} (${signal ?? code}; ${end}; ${stderr.slice(0, 500)})`);
}

async function mustGoOn(
  name: string,
  { library, folder, seed, scripts = import.meta.dirname }: FailOptions,
  runs: readonly Run[],
): Promise<void> {
  const left = runs.map(({ call, folder: root, lines, signal }): Left => {
    const steps = lines.flatMap(line => Number(/^done (\d+)/.exec(line)?.[1] ?? 0));
    const what = `${call}, after which it ended with ${signal ?? lines.at(-1)}`;
    return { what, folder: root, resolved: Math.max(0, ...steps) };
  });
  const list = path.join(folder, 'left.json');
  await writeFile(list, JSON.stringify(left));
  const script = path.join(scripts, 'fail-lmdb-open-child.js');
  await stdoutOf(process.execPath, [script, library.href, name, String(seed), list]);
}
