import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Answer, Digest, Input, Places, Question, Sample, Variant, Work } from './question.js';

const CHILD = path.join(import.meta.dirname, 'child.js');

/**
 * The maximum time in seconds for all runs of one variant. Slow variants are run fewer times, so
 * that a benchmark takes only minutes.
 */
const MAX_SECONDS = 20;

/**
 * Runs the variants of a benchmark in turns, so that changes in the machine's speed affect all of
 * them. In a first round, which is not measured, the outputs of the variants must agree.
 */
export async function measure(
  question: Question,
  { quick, runs, places }: { quick: boolean; runs: number; places: Places },
): Promise<Answer> {
  const input = await question.prepare({ quick });
  try {
    return await measureOn(input, question, { quick, runs, places });
  } finally {
    await input.close?.();
  }
}

async function measureOn(
  input: Input,
  question: Question,
  { quick, runs, places }: { quick: boolean; runs: number; places: Places },
): Promise<Answer> {
  const leftOut = question.variants.filter(variant => quick && variant.slow === true);
  const wanted = question.variants.filter(variant => !leftOut.includes(variant));
  const present = wanted.filter(isPresent);
  const absent = wanted.filter(variant => !present.includes(variant));
  const skipped = [
    ...leftOut.map(variant => `${variant.name}: too slow for a quick run`),
    ...absent.map(
      variant => `${variant.name}: \`${variant.needs?.name}\` is not here; ${variant.needs?.hint}`,
    ),
  ];

  const digests = new Map<string, Digest>();
  const timed = new Map<Variant, number>();
  for (const variant of present)
    await inFolder(places, variant, async out => {
      const first = await runOnce(question, variant, { ...workOf(input), out, compared: true });
      timed.set(variant, Math.min(runs, Math.max(1, Math.floor(MAX_SECONDS / first.seconds))));
      const { limit = false, compared = !limit } = variant;
      if (compared && question.digest !== undefined)
        digests.set(variant.name, await question.digest(out));
    });
  assertAgree(question, digests);

  const samples = new Map<Variant, Sample[]>(present.map(variant => [variant, []]));
  for (let round = 0; round < runs; round++)
    for (const variant of round % 2 === 0 ? present : present.toReversed()) {
      if (round >= (timed.get(variant) ?? runs)) continue;
      await inFolder(places, variant, async out => {
        if (places.inMemory && !variant.disk) await touchMemory(out, input.bytes);
        const work = { ...workOf(input), out, compared: false };
        samples.get(variant)?.push(await runOnce(question, variant, work));
      });
    }
  return {
    input,
    measured: present.map(variant => ({ variant, samples: samples.get(variant) ?? [] })),
    skipped,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

function isPresent({ needs }: Variant): boolean {
  if (needs === undefined) return true;
  if (needs.kind === 'command') return spawnSync('which', [needs.name]).status === 0;
  try {
    createRequire(import.meta.url).resolve(needs.name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes and deletes as many bytes as a variant is about to write. A virtual machine returns unused
 * memory to its host. Without this call, the measured time would include getting that memory back.
 */
export async function touchMemory(folder: string, bytes: number): Promise<void> {
  const name = path.join(folder, 'touched');
  const file = await open(name, 'w');
  const block = Buffer.alloc(4 << 20);
  for (let at = 0; at < bytes * 1.5; at += block.length)
    await file.write(block, 0, block.length, at);
  await file.close();
  await rm(name);
}

async function inFolder(
  { scratch, disk }: Places,
  variant: Variant,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(variant.disk === true ? disk : scratch, 'out-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function workOf({ files, posts, format, warmUp }: Input) {
  return { files, posts, format, warmUp };
}

async function runOnce(question: Question, variant: Variant, work: Work): Promise<Sample> {
  const module = path.join(
    import.meta.dirname,
    question.folder ?? question.name,
    `${variant.module}.js`,
  );
  const child = spawn(process.execPath, [CHILD, module], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(work));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', chunk => {
    printed += chunk;
  });
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  if (code !== 0) throw new Error(`${question.name}: ${variant.name} ended with exit code ${code}`);
  return JSON.parse(printed) as Sample;
}

function assertAgree(question: Question, digests: ReadonlyMap<string, Digest>): void {
  const [first, ...rest] = [...digests];
  for (const [name, digest] of rest)
    if (JSON.stringify(digest) !== JSON.stringify(first?.[1]))
      throw new Error(
        `${question.name}: ${name} put out something else than ${first?.[0]}:\n` +
          `${JSON.stringify(digest)}\n${JSON.stringify(first?.[1])}`,
      );
}
