import { threadId } from 'node:worker_threads';
import type { KV } from '@nats-io/kv';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { JetStreamConnection } from '../../src/jetstream/connection.js';
import { clientFailure } from '../../src/jetstream/jet-stream-errors.js';
import { takeOver } from '../../src/jetstream/publisher-fence.js';
import type { OpenedStream } from '../../src/jetstream/stream-settings.js';
import { unchecked } from '../unchecked.js';

const KEY = 'posts';
const START = Date.UTC(2024, 0, 1);

type Behavior = 'in order' | 'lost answer' | 'not applied' | 'older state' | 'lost state';

class Bucket {
  /** The behaviour for the next requests. Later requests are answered normally. */
  readonly next: Behavior[];
  /** The values that were written. The index of a value is its revision. */
  readonly #values: string[] = [];

  constructor(next: readonly Behavior[] = []) {
    this.next = [...next];
  }

  readonly kv = unchecked<KV>({
    create: (_: string, text: string) => this.#write(text, 0),
    update: (_: string, text: string, revision: number) => this.#write(text, revision),
    get: async () => {
      const isOlder = this.next.shift() === 'older state' && this.#values.length > 1;
      const revision = this.#values.length - (isOlder ? 1 : 0);
      if (revision === 0) return null;
      const text = this.#values[revision - 1] as string;
      return { operation: 'PUT', revision, bucket: 'b', string: () => text };
    },
  });

  /** Writes as another process would, without checking the revision. */
  overwrite(changes: object): void {
    this.#values.push(JSON.stringify({ ...this.last, ...changes }));
  }

  get last(): Record<string, unknown> {
    return JSON.parse(this.#values.at(-1) as string);
  }

  async #write(text: string, revision: number): Promise<number> {
    const behavior = this.next.shift();
    if (behavior === 'not applied') throw named('TimeoutError');
    if (behavior === 'lost state' && this.#values.length > 1) this.#values.pop();
    if (revision !== this.#values.length)
      throw Object.assign(named('JetStreamApiError'), { status: 400, code: 10071 });
    this.#values.push(text);
    if (behavior === 'lost answer') throw named('TimeoutError');
    return this.#values.length;
  }
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}

const connection = unchecked<JetStreamConnection>({
  maxPayload: 1 << 20,
  signal: new AbortController().signal,
  async repeat<T>(_: string, request: () => Promise<T>): Promise<T> {
    while (true) {
      try {
        return await request();
      } catch (error) {
        if (!clientFailure(error).mayPass) throw error;
      }
    }
  },
  unstored: (error: unknown) => Promise.reject(error),
  streamInfo: async () => ({ state: {} }),
});

const stream = { name: KEY, created: 'now', subjects: ['posts.0'], lastSequence: 0 };

const takenOver = (bucket: Bucket, takeoverMs = 0) =>
  takeOver(
    { connection, kv: bucket.kv, name: 'b' },
    {
      key: KEY,
      name: KEY,
      stream: unchecked<OpenedStream>(stream),
      flow: [],
      takeoverMs,
    },
  );

const behaviors = fc.array(
  fc.constantFrom<Behavior>('in order', 'lost answer', 'not applied', 'older state', 'lost state'),
  { maxLength: 40 },
);

describe('the KV entry that locks the name of a publisher', () => {
  it('is written by its process even if responses of the servers are lost', async () => {
    await fc.assert(
      fc.asyncProperty(behaviors, fc.integer({ min: 1, max: 8 }), async (all, writes) => {
        const bucket = new Bucket();
        const entry = await takenOver(bucket);
        bucket.next.push(...all);
        for (let seq = 1; seq <= writes; seq++) {
          await entry.write({ seq });
          expect(bucket.last).toMatchObject({ seq, write: seq });
        }
        entry.close();
      }),
    );
  });

  it('is not overwritten after another process has taken over', async () => {
    await fc.assert(
      fc.asyncProperty(behaviors, fc.nat(8), async (all, writes) => {
        // `lost state` is excluded, because the write of the other process must not be lost.
        const bucket = new Bucket(all.filter(each => each !== 'lost state'));
        const entry = await takenOver(bucket);
        for (let seq = 1; seq <= writes; seq++) await entry.write({ seq });
        const { epoch, process } = entry.state;
        const other = { epoch: epoch + 1, process: { ...process, run: 'other' }, write: 0 };
        bucket.overwrite(other);
        await expect(entry.write({ seq: 99 })).rejects.toMatchObject({ failure: 'taken-over' });
        expect(bucket.last).toMatchObject(other);
        entry.close();
      }),
    );
  });

  it('is taken over from a process that has ended even if servers first answer with outdated state', async () => {
    const bucket = new Bucket();
    const ended = await takenOver(bucket);
    await ended.write({ seq: 1 });
    ended.close();
    bucket.next.push('older state');
    const entry = await takenOver(bucket);
    expect(entry.state.seq).toBe(1);
    entry.close();
  });

  it('is taken over from another machine only after that machine is silent, even if servers answer with outdated state', async () => {
    const bucket = new Bucket();
    const silent = await takenOver(bucket);
    await silent.write({ seq: 1 });
    bucket.overwrite({ process: { ...silent.state.process, machine: 'elsewhere' } });
    bucket.next.push('in order', 'older state', 'in order', 'older state');
    const began = performance.now();
    const entry = await takenOver(bucket, 1_000);
    expect(performance.now() - began).toBeGreaterThan(990);
    expect(entry.state.seq).toBe(1);
    entry.close();
    silent.close();
  });

  // Readers skip messages of all epochs except for the highest. With a lower epoch, all posts of
  // this run would be lost.
  it('gets a higher epoch than all earlier ones if it was deleted', async () => {
    // The deleted publisher's messages are still in the stream, with their epochs.
    const epochs: number[] = [];
    for (let publishers = 0; publishers < 3; publishers++) {
      const now = vi.spyOn(Date, 'now').mockReturnValue(START + publishers);
      const entry = await takenOver(new Bucket());
      now.mockRestore();
      epochs.push(entry.state.epoch);
      entry.close();
    }
    expect(epochs).toEqual([START, START + 1, START + 2]);
  });

  it('gets a higher epoch than in the previous run even if the clock was set back', async () => {
    const bucket = new Bucket();
    const before = await takenOver(bucket);
    before.close();
    const inAnHour = Date.now() + 3_600_000;
    bucket.overwrite({ epoch: inAnHour });
    const entry = await takenOver(bucket);
    expect(entry.state.epoch).toBe(inAnHour + 1);
    expect(bucket.last).toMatchObject({ epoch: inAnHour + 1 });
    entry.close();
  });

  it.each([
    [
      'a process of another container, which has its own process ids',
      { machine: 'this boot, other container' },
    ],
    ['a process that ran before a restart of the machine', { machine: 'an earlier boot' }],
    ['a version that did not record its machine', { machine: undefined, started: undefined }],
  ])('is not taken over before the waiting time if its owner is %s', (_, where) =>
    expectInUse({ ...where, pid: 2 ** 22 + 1 }),
  );

  it('is not taken over immediately from another thread of the same process', () =>
    expectInUse({ thread: threadId + 1 }));

  /**
   * Expects that a publisher counts as alive if it writes during the takeover wait. The publisher
   * is a process that differs from this one in the members of `where`.
   */
  async function expectInUse(where: object): Promise<void> {
    const bucket = new Bucket();
    const other = await takenOver(bucket);
    other.close();
    const by = { ...other.state.process, ...where, run: 'other' };
    bucket.overwrite({ process: by });
    const writes = setInterval(() => bucket.overwrite({ process: by }), 50);
    try {
      await expect(takenOver(bucket, 60_000).then(entry => entry.close())).rejects.toMatchObject({
        failure: 'in-use',
      });
    } finally {
      clearInterval(writes);
    }
  }

  // Only Linux provides the start time of a process.
  it.skipIf(process.platform !== 'linux')(
    'is taken over immediately from a process that has ended even if its pid is in use again',
    async () => {
      const bucket = new Bucket();
      const ended = await takenOver(bucket);
      ended.close();
      const { process: by } = ended.state;
      // This is the pid of the parent process, which is running.
      bucket.overwrite({ process: { ...by, pid: process.ppid, started: '1', run: 'ended' } });
      const entry = await takenOver(bucket, 3_600_000);
      expect(entry.state.process.run).not.toBe('ended');
      entry.close();
    },
  );

  // Found by `npm run faults -- jetstream` (partition, seed 6): the only publisher failed. Its
  // error said that another process had taken over.
  it('still belongs to its process if servers reject a write and answer with outdated state', async () => {
    const bucket = new Bucket();
    const entry = await takenOver(bucket);
    await entry.write({ seq: 1 });
    bucket.next.push('lost answer', 'in order', 'older state');
    await entry.write({ seq: 2 });
    expect(bucket.last).toMatchObject({ seq: 2 });
    entry.close();
  });
});
