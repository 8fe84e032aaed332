import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { range, slow, turn } from './slow-numbers.js';

/** Like `Unpack` of tar and `WriteStream` of fs-minipass: only `write`, `end` and events. */
class Store extends EventEmitter {
  readonly items: number[] = [];
  aborted: unknown;
  #full = false;

  write(item: number): boolean {
    if (this.#full) throw new Error('written to before it drained');
    this.#full = true;
    setImmediate(() => {
      this.#full = false;
      this.items.push(item);
      this.emit('drain');
    });
    return false;
  }

  end(): void {
    setImmediate(() => this.emit('finish'));
  }

  abort(error: unknown): void {
    this.aborted = error;
  }
}

describe('an emitter with write and end as sink', () => {
  it('receives all items, at its own speed', async () => {
    const store = new Store();
    await pipeline(slow(20).flow, store);
    expect(store.items).toEqual(range(20));
  });

  it('is aborted together with the pipeline', async () => {
    const store = new Store();
    const controller = new AbortController();
    const running = pipeline(slow(1_000).flow, store, { signal: controller.signal });
    await turn();
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(store.aborted).toBe('enough');
  });

  it('fails if it closes before it has received all items', async () => {
    const store = new Store();
    const running = pipeline(slow(1_000).flow, store);
    await turn();
    await turn();
    store.emit('close');
    await expect(running).rejects.toThrow('closed before');
  });
});
