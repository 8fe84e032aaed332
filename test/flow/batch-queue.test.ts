import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { BatchQueue } from '../../src/flow/batch-queue.js';

it('gives items with the state of the producers as they were taken, whatever they add before the consumer gets them', async () => {
  const queue = new BatchQueue<number>(10);
  let added = 0;
  const add = (item: number) => {
    void queue.add([item]);
    added = item;
  };
  add(1);
  const reader = queue.read(() => added);
  const taken = reader.next();
  add(2);
  expect((await taken).value).toEqual({ items: [1], state: 1 });
  expect((await reader.next()).value).toEqual({ items: [2], state: 2 });
});

it('refuses items after its failure, so that no producer counts them as delivered (faults matrix, compliance)', async () => {
  const queue = new BatchQueue<number>(10);
  const failure = new Error('failed');
  await queue.add([1]);
  queue.fail(failure);
  await expect(queue.add([2])).rejects.toBe(failure);
  const reader = queue.read();
  expect((await reader.next()).value?.items).toEqual([1]);
  await expect(reader.next()).rejects.toBe(failure);
});

it('drops what producers add once its reader has stopped', async () => {
  const queue = new BatchQueue<number>(1);
  void queue.add([1]);
  for await (const { items } of queue.read()) {
    expect(items).toEqual([1]);
    break;
  }
  await queue.add([2, 3]);
});

it('has its producers wait while it holds as much as its limit, by the size of its items', async () => {
  const queue = new BatchQueue<Buffer>(100, bytes => bytes.length);
  let added = 0;
  const add = async (bytes: number) => {
    await queue.add([Buffer.alloc(bytes)]);
    added++;
  };
  const adding = (async () => {
    for (const bytes of [60, 60, 60]) await add(bytes);
  })();
  await setImmediate();
  // The second one waits for the consumer, and the third one has not been added.
  expect(added).toBe(1);
  expect((await queue.read().next()).value?.items).toHaveLength(2);
  await adding;
  expect(added).toBe(3);
});
