import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { stdoutOf, straceArguments } from './system-calls.js';

export interface CutOptions {
  readonly library: URL;
  readonly folder: string;
  readonly seed: number;
  /**
   * The calls at which to cut the power: all of them, or only those that sync. Just before a sync,
   * the most data is unsynced. @default 'all'
   */
  readonly moments?: 'all' | 'syncs' | undefined;
  readonly scripts?: string | undefined;
}

/**
 * Writes to a file of LMDB in a process whose system calls are recorded. Then opens the file as a
 * power cut at each of these calls would leave it. LMDB calls the system directly, so the simulated
 * disk does not see its writes.
 *
 * @returns The number of power cuts, and how many of them lost data.
 */
export async function cutLmdb(
  name: string,
  { library, folder, seed, moments = 'all', scripts = import.meta.dirname }: CutOptions,
): Promise<{ readonly hits: number; readonly cuts: number }> {
  const within = (file: string) => path.join(folder, file);
  const script = (file: string) => path.join(scripts, `cut-lmdb-${file}-child.js`);
  await mkdir(within('written'));
  const common = [library.href, name, within('written'), String(seed)];
  await stdoutOf('strace', [
    ...[...straceArguments(within('trace')), process.execPath],
    ...[script('write'), ...common, within('lock')],
  ]);
  const text = await stdoutOf(process.execPath, [
    ...[script('open'), ...common],
    ...[within('trace'), within('lock'), within('image'), moments],
  ]);
  const { images, lost } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as {
    readonly images: number;
    readonly lost: number;
  };
  return { hits: lost, cuts: images };
}
