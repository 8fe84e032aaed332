import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isRecord } from '../src/base/record.js';
import { Random } from './faults/random.js';

export interface Mutant {
  readonly file: string;
  /** Code that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
  /** One sentence that says what the product does wrong because of the mistake. */
  readonly mistake: string;
  readonly tests: readonly string[];
}

const root = path.resolve(import.meta.dirname, '..');

export function readMutants(): readonly Mutant[] {
  const list: unknown = JSON.parse(readFileSync(path.join(root, 'test/mutants.json'), 'utf8'));
  if (!Array.isArray(list)) throw new Error('test/mutants.json is not a list');
  return list.map(mutantOf);
}

function mutantOf(value: unknown, index: number): Mutant {
  const { file, from, to, mistake, tests, ...others } = isRecord(value) ? value : {};
  const isWhole =
    typeof file === 'string' &&
    typeof from === 'string' &&
    typeof to === 'string' &&
    typeof mistake === 'string' &&
    Array.isArray(tests) &&
    tests.length > 0 &&
    tests.every(test => typeof test === 'string') &&
    Object.keys(others).length === 0;
  if (!isWhole)
    throw new Error(`test/mutants.json: entry ${index} is wrong: ${JSON.stringify(value)}`);
  return { file, from, to, mistake, tests };
}

/**
 * Returns the text of a source file with the mistake in it.
 * @throws Error if `from` does not occur exactly once.
 */
export function mutated(text: string, { file, from, to, mistake }: Mutant): string {
  const [before = '', after, ...more] = text.split(from);
  if (after === undefined || more.length > 0) {
    const count = after === undefined ? 0 : more.length + 1;
    throw new Error(
      `${file} contains ${JSON.stringify(from)} ${count} times, not once. Update the place in test/mutants.json where the library ${mistake}`,
    );
  }
  return `${before}${to}${after}`;
}

/**
 * Returns the test folder that mirrors the folder of a source, ending in a slash. If it does not
 * exist, returns the nearest parent folder that does.
 */
export function mirroredFolder(file: string): string {
  let folder = path.posix.dirname(file).replace(/^src/, 'test');
  while (!existsSync(path.join(root, folder))) folder = path.posix.dirname(folder);
  return `${folder}/`;
}

export function sampled<T>(items: readonly T[], count: number, seed: number): T[] {
  const { next } = new Random(`mutants ${seed}`);
  return items
    .map((item, index) => ({ item, index, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ item }) => item);
}
