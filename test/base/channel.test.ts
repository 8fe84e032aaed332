import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Channel } from '../../src/base/channel.js';
import { bySuite } from '../suite.js';

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}

async function unhandledDuring(work: () => Promise<void>): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  const record = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', record);
  try {
    await work();
    await turns(3);
  } finally {
    process.off('unhandledRejection', record);
    for (const listener of others) process.on('unhandledRejection', listener);
  }
  return unhandled;
}

const producersOf = fc.array(
  fc.array(
    fc.record({
      weights: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
      wait: fc.nat(2),
    }),
    { maxLength: 6 },
  ),
  { minLength: 1, maxLength: 3 },
);

interface Item {
  readonly producer: number;
  readonly number: number;
  readonly weight: number;
}

describe('a channel', () => {
  it('delivers every item exactly once, in the order of its producer', async () => {
    await fc.assert(
      fc.asyncProperty(
        producersOf,
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.tuple(fc.boolean(), fc.nat(2)), { maxLength: 8 }),
        async (producers, limit, reads) => {
          const channel = new Channel<Item>(limit, ({ weight }) => weight);
          let held = 0;
          const produce = async (adds: (typeof producers)[number], producer: number) => {
            let number = 0;
            for (const { weights, wait } of adds) {
              const items = weights.map(weight => ({ producer, number: number++, weight }));
              held += weights.reduce((sum, weight) => sum + weight, 0);
              await channel.add(items);
              await turns(wait);
            }
          };
          const all = Promise.all(producers.map(produce)).then(() => channel.end());
          const got: Item[] = [];
          // One call of `add` contains at most 4 items, each with a weight of at most 9.
          const most = limit - 1 + producers.length * 4 * 9;
          for (let read = 0; await channel.ready(); read++) {
            expect(held).toBeLessThanOrEqual(most);
            const [one, wait] = reads[read % Math.max(1, reads.length)] ?? [false, 0];
            const items = one ? [channel.shift() as Item] : channel.takeAll();
            for (const item of items) held -= item.weight;
            got.push(...items);
            await turns(wait);
          }
          await all;
          for (const [producer, adds] of producers.entries()) {
            const own = got.filter(item => item.producer === producer);
            expect(own.map(({ number }) => number)).toEqual(
              adds.flatMap(({ weights }) => weights).map((_, number) => number),
            );
          }
          expect(held).toBe(0);
        },
      ),
      { numRuns: bySuite(25, 100) },
    );
  });

  it('delivers the items that it holds before its error, one by one or in batches', async () => {
    const failure = new Error('failed');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 6 }), fc.boolean(), async (items, one) => {
        const channel = new Channel<number>(Number.POSITIVE_INFINITY);
        await channel.add(items);
        channel.fail(failure);
        const got: (number | undefined)[] = [];
        const read = async () => {
          while (await channel.ready()) got.push(...(one ? [channel.shift()] : channel.takeAll()));
        };
        await expect(read()).rejects.toBe(failure);
        expect(got).toEqual(items);
      }),
      { numRuns: bySuite(13, 50) },
    );
  });

  it('makes producers wait while the weight of its items is at its limit', async () => {
    const channel = new Channel<Buffer>(100, bytes => bytes.length);
    let added = 0;
    const adding = (async () => {
      for (const bytes of [60, 60, 60]) {
        await channel.add([Buffer.alloc(bytes)]);
        added++;
      }
    })();
    await setImmediate();
    // The second `add` waits for the reader, so the third has not started.
    expect(added).toBe(1);
    expect(channel.takeAll()).toHaveLength(2);
    await adding;
    expect(added).toBe(3);
  });

  it('lets a producer without items continue while it is full', async () => {
    const channel = new Channel<number>(1);
    channel.push(1);
    await channel.add([]);
    expect(channel.isFull).toBe(true);
  });

  it('counts an item against its limit until the reader removes it', async () => {
    const channel = new Channel<string>(1);
    let hasRoom = false;
    const adding = channel.add(['a']).then(() => {
      hasRoom = true;
    });
    await channel.ready();
    expect(channel.first).toBe('a');
    await turns(2);
    expect(hasRoom).toBe(false);
    expect(channel.shift()).toBe('a');
    await adding;
    expect(channel.shift()).toBe(undefined);
  });

  // Found by `npm run faults -- matrix`, compliance.
  it('rejects new items after it has failed, so that no producer counts them as delivered', async () => {
    const channel = new Channel<number>(10);
    const failure = new Error('failed');
    await channel.add([1]);
    channel.fail(failure);
    await expect(channel.add([2])).rejects.toBe(failure);
    const reader = channel.batches();
    expect((await reader.next()).value).toEqual([1]);
    await expect(reader.next()).rejects.toBe(failure);
  });

  it('delivers its error immediately if it fails with the option to drop its items', async () => {
    const channel = new Channel<number>(10);
    const failure = new Error('failed');
    channel.push(1);
    channel.fail(failure, { dropsItems: true });
    await expect(channel.ready()).rejects.toBe(failure);
  });

  it('keeps its items if it ended before a failure that would drop them', async () => {
    const channel = new Channel<number>(10);
    channel.push(1);
    channel.end();
    channel.fail(new Error('too late'), { dropsItems: true });
    expect(await channel.ready()).toBe(true);
    expect(channel.takeAll()).toEqual([1]);
    expect(await channel.ready()).toBe(false);
  });

  it('unblocks its producers and drops their items when its reader stops', async () => {
    const channel = new Channel<number>(1);
    const adding = channel.add([1]);
    for await (const items of channel.batches()) {
      expect(items).toEqual([1]);
      void channel.add([2]);
      break;
    }
    await adding;
    await channel.add([3, 4]);
    expect(channel.isFull).toBe(false);
  });

  it('unblocks its producers when it fails or ends', async () => {
    for (const finish of ['fail', 'end'] as const) {
      const channel = new Channel<number>(1);
      const adding = Promise.all([channel.add([1]), channel.room()]);
      await turns(1);
      channel[finish](new Error('failed'));
      await adding;
    }
  });

  it('rejects a waiting reader immediately with the reason of an abort', async () => {
    const channel = new Channel<number>(1);
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = channel.ready(controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    channel.push(1);
    expect(await channel.ready()).toBe(true);
  });

  it('makes ready() resolve exactly once after poke(), even if no item was added', async () => {
    const channel = new Channel<number>(1);
    channel.poke();
    expect(await channel.ready()).toBe(true);
    expect(channel.takeAll()).toEqual([]);
    let woken = false;
    const waiting = channel.ready().then(() => {
      woken = true;
    });
    await turns(2);
    expect(woken).toBe(false);
    channel.end();
    await waiting;
  });

  it('leaves no unhandled rejection when it fails while nobody reads', async () => {
    const unhandled = await unhandledDuring(async () => {
      const channel = new Channel<number>(1);
      void channel.add([1]);
      channel.fail(new Error('failed'));
    });
    expect(unhandled).toEqual([]);
  });
});
