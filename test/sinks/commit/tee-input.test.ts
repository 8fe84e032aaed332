import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Flow, type Sink } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { collect } from '../../../src/sinks/collect.js';
import { MAX_LEAD } from '../../../src/sinks/commit/tee-input.js';
import { tee } from '../../../src/sinks/tee.js';

describe('the input that the branches of tee share', () => {
  it('is read at the pace of the slowest branch', async () => {
    let read = 0;
    const source = new Flow<number>(async function* () {
      while (read < 200) yield { items: [read++] };
    });
    let taken = 0;
    let lead = 0;
    const slow: Sink<number, number> = async input => {
      for await (const _ of input) {
        await sleep(taken < 20 ? 5 : 0);
        lead = Math.max(lead, read - taken);
        taken++;
      }
      return taken;
    };
    expect(await pipeline(source, tee(slow, collect()))).toEqual([200, expect.anything()]);
    expect(lead).toBeGreaterThan(MAX_LEAD / 2);
    expect(lead).toBeLessThanOrEqual(MAX_LEAD + 2);
  });

  it('causes no error if it fails after all branches have stopped reading', async () => {
    let fail: (() => void) | undefined;
    let complete = () => {};
    const failed = new Promise<void>(resolve => {
      complete = resolve;
    });
    const source = new Flow<number>(async function* () {
      yield { items: [1] };
      await new Promise((_, reject) => {
        fail = () => reject(new Error('too late'));
      });
    });
    // The source fails while this sink completes the items that it has read.
    const completing: Sink<number, string> = async input => {
      for await (const _ of input) break;
      await failed;
      return 'complete';
    };
    const enough: Sink<number, string> = async input => {
      const items = input[Symbol.asyncIterator]();
      await items.next();
      items.next().catch(() => {});
      await expect.poll(() => fail).toBeDefined();
      setTimeout(() => {
        fail?.();
        setTimeout(complete, 20);
      }, 20);
      return 'enough';
    };
    expect(await pipeline(source, tee(completing, enough))).toEqual(['complete', 'enough']);
  });
});
