import { constants, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Gzip } from 'minizlib';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/errors.js';
import { batchesOf } from '../../src/flow.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { inflateInPool } from '../../src/sources/inflate-in-pool.js';

type Outcome = { readonly bytes: Buffer; readonly error?: string };

/** What came out, and how it ended. */
async function outcomeOf(blocks: AsyncIterable<readonly Buffer[]>): Promise<Outcome> {
  const all: Buffer[] = [];
  try {
    for await (const some of blocks) all.push(...some);
  } catch (error) {
    const isCut = error instanceof DataError && `${(error.cause as { code?: string })?.code}`;
    const kind =
      error instanceof DataError ? (isCut === 'Z_BUF_ERROR' ? 'cut' : 'corrupt') : String(error);
    return { bytes: Buffer.concat(all), error: kind };
  }
  return { bytes: Buffer.concat(all) };
}

async function* arrivals(wire: Buffer, cuts: readonly number[], failure?: Error) {
  let at = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    yield [wire.subarray(at, cut), wire.subarray(cut, cut + 1)];
    at = Math.max(at, cut + 1);
  }
  yield [wire.subarray(at)];
  if (failure !== undefined) throw failure;
}

/** The plain way: our operator, on this thread. */
async function* plainly(input: AsyncIterable<readonly Buffer[]>) {
  const bytes = (async function* () {
    for await (const blocks of input) yield Buffer.concat(blocks);
  })();
  for await (const { items } of batchesOf(gunzip()(bytes))) yield items;
}

/** Messages, each in a flush of its own, as a stream has them. */
function flushed(messages: readonly string[]): Buffer {
  const gzip = new Gzip({ flush: constants.Z_SYNC_FLUSH });
  const out: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => out.push(piece));
  for (const message of messages) gzip.write(Buffer.from(`${message}\r\n`));
  gzip.end();
  return Buffer.concat(out);
}

const member = fc
  .array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 20 })
  .map(flushed);
const wire = fc
  .tuple(
    fc.array(member, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '\0', '\0\0\0\0', 'junk', '\0\0junk', '\x1f'),
  )
  .map(([members, after]) => Buffer.concat([...members, Buffer.from(after, 'latin1')]));

describe('inflating in the pool', () => {
  it('gives what the operator gives, for streams whole, cut short and damaged, cut at any byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        wire,
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.option(fc.nat()),
        fc.option(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }))),
        async (whole, cutsAt, end, damage) => {
          const bytes = Buffer.from(end === null ? whole : whole.subarray(0, end % whole.length));
          if (bytes.length === 0) return;
          // The first byte, and it alone, tells the operator that this is no gzip at all.
          if (damage !== null && bytes.length > 1)
            bytes[1 + (damage[0] % (bytes.length - 1))]! ^= damage[1];
          const cuts = cutsAt.map(at => at % bytes.length);
          const [pool, plain] = await Promise.all([
            outcomeOf(inflateInPool(arrivals(bytes, cuts), 'here')),
            outcomeOf(plainly(arrivals(bytes, cuts))),
          ]);
          expect(pool.error).toBe(plain.error);
          // Of damaged gzip both give a beginning; what comes out before the damage is known differs.
          if (pool.error === 'corrupt') return;
          expect(pool.bytes.equals(plain.bytes)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives all that came before the input broke, then its error', async () => {
    const messages = Array.from({ length: 500 }, (_, i) => `{"n":${i},"text":"${'x'.repeat(i)}"}`);
    const bytes = flushed(messages);
    const failure = new Error('the connection was reset');
    const { bytes: out, error } = await outcomeOf(
      inflateInPool(arrivals(bytes.subarray(0, -9), [7, 4_000], failure), 'here'),
    );
    expect(error).toBe(String(failure));
    expect(out.toString()).toBe(messages.map(message => `${message}\r\n`).join(''));
  });

  it('calls an empty body cut short', async () => {
    expect(await outcomeOf(inflateInPool(arrivals(Buffer.alloc(0), []), 'here'))).toMatchObject({
      error: 'cut',
    });
  });

  it('holds a small part of a bomb at a time', async () => {
    const size = 256 * 2 ** 20;
    const bomb = gzipSync(Buffer.alloc(size));
    let most = 0;
    let total = 0;
    for await (const blocks of inflateInPool(arrivals(bomb, []), 'here')) {
      const bytes = blocks.reduce((sum, { length }) => sum + length, 0);
      most = Math.max(most, bytes);
      total += bytes;
    }
    expect(total).toBe(size);
    expect(most).toBeLessThanOrEqual(33 * 2 ** 20);
  });

  it('lets go when its reader stops', async () => {
    const bytes = flushed(Array.from({ length: 2_000 }, (_, i) => `{"n":${Math.sin(i)}}`));
    let ended = false;
    const input = (async function* () {
      try {
        for (let at = 0; ; at = (at + 1_000) % 10_000) yield [bytes.subarray(at, at + 1_000)];
      } finally {
        ended = true;
      }
    })();
    for await (const blocks of inflateInPool(input, 'here')) if (blocks.length > 0) break;
    expect(ended).toBe(true);
  });
});
