import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { spawn } from '../../child-processes.js';
import { straceArguments } from './system-calls.js';

export interface CutOptions {
  readonly library: URL;
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  /** All calls, or only those that sync: before them most is not synced. @default 'all' */
  readonly moments?: 'all' | 'syncs' | undefined;
  /** The folder of the compiled scripts. @default this file's */
  readonly scripts?: string | undefined;
}

/** What to do to have strace, where it cannot be used. */
export function withoutStrace(): string | undefined {
  if (process.platform !== 'linux') return 'needs strace, so Linux';
  const { status, error, stderr } = spawnSync(
    'strace',
    [...straceArguments('/dev/null'), process.execPath, '--version'],
    { encoding: 'utf8' },
  );
  if (error !== undefined) return 'needs strace: `apt-get install strace`';
  return status === 0 ? undefined : `needs strace, which fails: ${stderr.split('\n')[0]}`;
}

/**
 * Writes to a file of LMDB in a process whose system calls are recorded, then opens the file as a power cut at each
 * of them leaves it. LMDB writes by itself, so the simulated disk does not see its calls.
 *
 * @returns The power cuts, and how many took something.
 */
export async function cutLmdb(
  name: string,
  { library, folder, seed, moments = 'all', scripts = import.meta.dirname }: CutOptions,
): Promise<{ readonly hits: number; readonly cuts: number }> {
  const within = (file: string) => path.join(folder, file);
  const script = (file: string) => path.join(scripts, `${file}-child.js`);
  await mkdir(within('written'));
  const common = [library.href, name, within('written'), String(seed)];
  await printed('strace', [
    ...[...straceArguments(within('trace')), process.execPath],
    ...[script('lmdb-writer'), ...common, within('lock')],
  ]);
  const text = await printed(process.execPath, [
    ...[script('lmdb-images'), ...common],
    ...[within('trace'), within('lock'), within('image'), moments],
  ]);
  const { images, lost } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as {
    readonly images: number;
    readonly lost: number;
  };
  return { hits: lost, cuts: images };
}

/** What a process prints. If it fails, or a signal ends it, its last line says where. */
async function printed(command: string, given: readonly string[]): Promise<string> {
  const child = spawn(command, given, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, UV_USE_IO_URING: '0' },
  });
  let [text, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return text;
  const reason = signal ?? /^\w*Error: .*$/m.exec(errors)?.[0] ?? errors.slice(0, 500);
  throw new Error(`${text.trimEnd().split('\n').at(-1) || command}: ${reason}`);
}
