import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Flow, type Sink } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { MAX_LEAD } from '../../../src/sinks/branches/feed.js';
import { collect } from '../../../src/sinks/collect.js';
import { tee } from '../../../src/sinks/tee.js';

describe('the input of branches', () => {
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
});
