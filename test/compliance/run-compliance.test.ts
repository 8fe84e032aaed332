import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../src/base/time.js';
import { ConnectionGaps } from '../../src/compliance/run-compliance.js';

const START = Date.UTC(2024, 4, 15, 12);

describe('the reported gaps of a compliance stream', () => {
  it('are the times between connections, never the time before the first connection', () => {
    const ledger = new ConnectionGaps(1);
    expect(ledger.state).toEqual({ until: undefined, gaps: [] });
    ledger.connected(0, START + 30_000);
    expect(ledger.state).toEqual({ until: START + 30_000, gaps: [] });
    ledger.delivered(0, START + 10 * MINUTE);
    ledger.connected(0, START + 12 * MINUTE + 1);
    expect(ledger.state.gaps).toEqual([{ from: START + 9 * MINUTE, to: START + 14 * MINUTE }]);
    ledger.filled({ from: START + 9 * MINUTE, to: START + 11 * MINUTE });
    expect(ledger.oldest).toEqual({ from: START + 11 * MINUTE, to: START + 14 * MINUTE });
  });

  it('start at the end of the previous run if it left a cursor', () => {
    const ledger = new ConnectionGaps(2, { until: START, gaps: [] });
    ledger.connected(0, START + MINUTE);
    expect(ledger.state.until).toBe(START);
    ledger.connected(1, START + 5 * MINUTE);
    expect(ledger.state).toEqual({
      until: START + MINUTE,
      gaps: [{ from: START - MINUTE, to: START + 6 * MINUTE }],
    });
  });

  it('cover every moment without a connection, across restarts', () => {
    const step = fc.record({
      connection: fc.nat(2),
      what: fc.constantFrom(
        'connect' as const,
        'hear' as const,
        'lose' as const,
        'restart' as const,
      ),
      ms: fc.integer({ min: 1, max: 20 * MINUTE }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        let ledger = new ConnectionGaps(3);
        let now = START;
        const stands: (number | undefined)[] = [undefined, undefined, undefined];
        const ever = [false, false, false];
        const missed: number[] = [];
        for (const { connection, what, ms } of steps) {
          for (const [index, since] of stands.entries())
            if (since === undefined && ever[index]) missed.push(now + 1);
          now += ms;
          if (what === 'connect' && stands[connection] === undefined) {
            ledger.connected(connection, now);
            stands[connection] = now;
            ever[connection] = true;
          } else if (what === 'hear' && stands[connection] !== undefined)
            ledger.delivered(connection, now);
          else if (what === 'lose') stands[connection] = undefined;
          else if (what === 'restart' && ledger.state.until !== undefined) {
            ledger = new ConnectionGaps(3, structuredClone(ledger.state));
            stands.fill(undefined);
          }
        }
        for (const connection of [0, 1, 2]) if (ever[connection]) ledger.connected(connection, now);
        for (const at of missed)
          expect(ledger.state.gaps.some(({ from, to }) => from <= at && at < to)).toBe(true);
      }),
    );
  });
});
