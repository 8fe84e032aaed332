import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { Activity } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import { source } from '../operators/batches.js';

describe('collect', () => {
  it('returns all items of all batches in one array, in order', async () => {
    expect(await pipeline(source([[1, 2], [], [3]]), collect())).toEqual([1, 2, 3]);
  });

  it('returns an empty array for a source without items', async () => {
    expect(await pipeline(source<number>([]), collect())).toEqual([]);
  });

  it('copies posts out of a larger buffer that they share', async () => {
    const block = Buffer.alloc(1 << 16, ' ');
    const length = block.write('{"id":1,"text":"snow"}');
    const [post] = await pipeline(
      source([[new Activity(block.subarray(0, length))]]),
      collect<Activity>(),
    );
    expect(post?.raw.toString()).toBe('{"id":1,"text":"snow"}');
    expect(post?.raw.buffer).not.toBe(block.buffer);
  });

  it('rejects with the reason of an abort', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    controller.abort(reason);
    const { signal } = controller;
    await expect(pipeline(source([[1]]), collect(), { signal })).rejects.toBe(reason);
  });
});
