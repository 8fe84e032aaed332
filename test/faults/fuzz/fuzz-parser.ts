import { Random } from '../random.js';
import { mutate } from './mutate.js';
import type { Parser } from './parser.js';

const MAX_BYTES = 16 * 1024;
const SHRINK_MS = 3_000;

export interface FuzzOptions {
  readonly name: string;
  readonly seed: number;
  /** No further input is tried after this time, in ms. @default unlimited */
  readonly forMs?: number | undefined;
  readonly inputs?: number | undefined;
  /** At least this many inputs are tried, however long they take. @default 0 */
  readonly minInputs?: number | undefined;
  readonly onInput?: ((input: Buffer) => void) | undefined;
}

export interface Fuzzed {
  readonly inputs: number;
  readonly accepted: number;
}

/**
 * Tries valid inputs and mutations of valid inputs, one after the other. The inputs depend only on
 * the name of the parser and the seed.
 *
 * @throws for the first input that fails. The error contains the reduced input as base64.
 */
export async function fuzzParser(parser: Parser, options: FuzzOptions): Promise<Fuzzed> {
  const {
    name,
    seed,
    forMs = Number.POSITIVE_INFINITY,
    inputs = Number.POSITIVE_INFINITY,
    minInputs = 0,
  } = options;
  const end = performance.now() + forMs;
  const random = new Random(`${name} ${seed}`);
  const { tokens, maxBytes = MAX_BYTES } = parser;
  let tried = 0;
  let accepted = 0;
  while (tried < inputs && (tried < minInputs || performance.now() < end)) {
    const other = parser.seed(random);
    const input = mutate(parser.seed(random), random, { other, tokens, maxBytes });
    // With this seed, the input is cut at the same random positions when it is repeated or reduced.
    const attemptSeed = `${name} ${seed} ${tried}`;
    tried++;
    options.onInput?.(input);
    try {
      if (await parser.attempt(Buffer.from(input), new Random(attemptSeed))) accepted++;
    } catch (error) {
      const small = await shrunk(parser, input, attemptSeed);
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(
        `Input ${tried} of seed ${seed} fails; made smaller, it is (base64, ${small.length} bytes)\n${small.toString('base64')}\n${text}`,
      );
    }
  }
  return { inputs: tried, accepted };
}

export async function tryInput(parser: Parser, input: Buffer): Promise<void> {
  for (let i = 0; i < 20; i++)
    await parser.attempt(Buffer.from(input), new Random(`${i} ${input.toString('base64')}`));
}

async function shrunk(parser: Parser, input: Buffer, attemptSeed: string): Promise<Buffer> {
  const end = performance.now() + SHRINK_MS;
  const fails = async (candidate: Buffer) => {
    try {
      await parser.attempt(Buffer.from(candidate), new Random(attemptSeed));
      return false;
    } catch {
      return true;
    }
  };
  let small = input;
  for (let step = Math.ceil(small.length / 2); step >= 1; step = Math.floor(step / 2))
    for (let at = 0; at < small.length; ) {
      if (performance.now() > end) return small;
      const candidate = Buffer.concat([small.subarray(0, at), small.subarray(at + step)]);
      if (await fails(candidate)) small = candidate;
      else at += step;
    }
  return small;
}
