import { readFile, rename, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { median } from './measure.js';
import type { Answer, Chart, Question } from './question.js';

export interface Recorded {
  /**
   * The day on which the results were measured, such as `2026-11-21`. Each benchmark has its own
   * day, because a run replaces only the results of the benchmarks that it measures.
   */
  readonly day: string;
  readonly machine: string;
  readonly charts: readonly Chart[];
}

export type Record = Readonly<{ [question: string]: Recorded }>;

export const MACHINE = `Node ${process.version}, ${os.cpus().length} x ${os.cpus()[0]?.model.trim() ?? 'unknown'}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB`;

export async function readRecord(file: string): Promise<Record> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

export async function record(
  file: string,
  question: string,
  charts: readonly Chart[],
): Promise<Recorded> {
  const day = new Date().toISOString().slice(0, 10);
  const recorded = { day, machine: MACHINE, charts };
  const all = { ...(await readRecord(file)), [question]: recorded };
  await writeFile(`${file}.new`, `${JSON.stringify(all, rounded, 1)}\n`);
  await rename(`${file}.new`, file);
  return recorded;
}

export function raceChart(question: Question, { input, measured }: Answer): Chart {
  const rate = input.bytes > 0;
  return {
    name: question.name,
    title: question.title,
    note: question.chartNote,
    ...(rate ? { unit: 'MB/s', better: 'more' } : { unit: 's', better: 'less' }),
    bars: measured.map(({ variant, samples }, index) => ({
      name: variant.name,
      kind: variant.limit === true ? 'limit' : index === 0 || variant.ours ? 'ours' : 'peer',
      values: samples.map(({ seconds }) => (rate ? input.bytes / 1e6 / seconds : seconds)),
    })),
  };
}

export function middleAndSpread(values: readonly number[]): {
  middle: number;
  low: number;
  high: number;
} {
  return { middle: median(values), low: Math.min(...values), high: Math.max(...values) };
}

/** Rounds to five significant digits, which is more than the precision of a measurement. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value;
}
