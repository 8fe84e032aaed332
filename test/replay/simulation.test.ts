import { describe, expect, it } from 'vitest';
import type { Window } from '../../src/base/time.js';
import { SeenIds } from '../../src/replay/replay-cursor.js';
import {
  type ReplayEnd,
  ReplayMachine,
  type ReplayState,
} from '../../src/replay/replay-machine.js';
import { bySuite } from '../suite.js';
import { type Parts, REAL_PARTS, type SimulatedReplay, simulate } from './simulation.js';

const REPLAYS = bySuite(125, 30_000);

type Sums = Record<keyof SimulatedReplay, number> & { readonly worst: readonly number[] };

/**
 * Runs simulations with the seeds 1, 2, 3 and so on, and adds up their results. `worst` lists the
 * seeds with lost or repeated posts.
 */
function simulateAll(seeds: number, parts: Parts = REAL_PARTS): Sums {
  const sums: Record<string, number> = {};
  const worst: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const result = simulate(seed, parts);
    for (const [name, value] of Object.entries(result))
      sums[name] =
        (sums[name] ?? 0) + (typeof value === 'number' ? value : Number(value === 'done'));
    if (result.lost + result.doubled + result.overBudget > 0) worst.push(seed);
  }
  return { ...(sums as Record<keyof SimulatedReplay, number>), worst };
}

describe(`${REPLAYS} replays against a service that fails in every way`, () => {
  it('deliver each post exactly once or report its gap, within the connection limit', () => {
    const sums = simulateAll(REPLAYS);
    expect(sums.worst).toEqual([]);
    expect(sums).toMatchObject({ lost: 0, doubled: 0, overBudget: 0 });
    // Without this, the test would pass if the simulations had no posts.
    expect(sums.posts).toBeGreaterThan(100 * REPLAYS);
    expect(sums.connects).toBeGreaterThan(10 * REPLAYS);
    expect(sums.faults).toBeGreaterThan(4 * REPLAYS);
    expect(sums.crashes).toBeGreaterThan(REPLAYS / 2);
    expect(sums.inGaps).toBeGreaterThan(0);
    expect(sums.ended).toBeGreaterThan(0.9 * REPLAYS);
  });
});

/** Mutants that each break one rule of the replay. The simulation must detect all of them. */
const MUTANTS: Record<string, { parts: Partial<Parts>; breaks: keyof SimulatedReplay }> = {
  'a replay treats the end of a connection as its completion': {
    breaks: 'lost',
    parts: {
      machine: class extends ReplayMachine {
        #range: Window | undefined;
        override next(...times: Parameters<ReplayMachine['next']>) {
          const action = super.next(...times);
          if (action.do === 'connect') this.#range = action.range;
          return action;
        }
        override cut(now: number, random: number) {
          const end = { outcome: 'completed', activityCount: undefined } as const;
          if (this.#range === undefined) return super.cut(now, random);
          super.ended(
            this.#range,
            { ...end, minutesFailed: [], unprocessedRange: undefined },
            { activities: 0, bytes: 0 },
            now,
            random,
          );
        }
      },
    },
  },
  'a replay ignores failed minutes': {
    breaks: 'lost',
    parts: { machine: believing(end => ({ ...end, outcome: 'completed' })) },
  },
  'a replay ignores the unprocessed range': {
    breaks: 'lost',
    parts: {
      machine: believing(end =>
        end.outcome === 'failed' ? { ...end, outcome: 'completed' } : end,
      ),
    },
  },
  'a replay ignores the count of activities': {
    breaks: 'lost',
    parts: { machine: believing(end => ({ ...end, activityCount: undefined })) },
  },
  'a replay does not report gaps': {
    breaks: 'lost',
    parts: {
      machine: class extends ReplayMachine {
        override get state(): ReplayState {
          return { ...super.state, gaps: [] };
        }
      },
    },
  },
  'a replay drops no duplicates': {
    breaks: 'doubled',
    parts: {
      seenIds: class extends SeenIds {
        override add(id: string, at: number) {
          super.add(id, at);
          return true;
        }
      },
    },
  },
  'a replay forgets the delivered ids immediately': {
    breaks: 'doubled',
    parts: {
      seenIds: class extends SeenIds {
        override keepOnly() {
          super.keepOnly([]);
        }
      },
    },
  },
  'a replay ignores the connection limit': {
    breaks: 'overBudget',
    parts: {
      machine: class extends ReplayMachine {
        constructor(start: Window | ReplayState) {
          super(start, { rates: [] });
        }
      },
    },
  },
  'a replay forgets earlier connections when it restarts': {
    breaks: 'overBudget',
    parts: {
      machine: class extends ReplayMachine {
        #begun: number | undefined;
        override next(now: number, serviceNow: number | undefined, connects: readonly number[]) {
          this.#begun ??= now;
          const begun = this.#begun;
          return super.next(
            now,
            serviceNow,
            connects.filter(at => at >= begun),
          );
        }
      },
    },
  },
};

function believing(change: (end: ReplayEnd) => ReplayEnd): typeof ReplayMachine {
  return class extends ReplayMachine {
    override ended(
      range: Window,
      end: ReplayEnd,
      received: { readonly activities: number; readonly bytes: number },
      now: number,
      random: number,
    ) {
      return super.ended(range, change(end), received, now, random);
    }
  };
}

describe('the replay simulation', () => {
  it.each(Object.entries(MUTANTS))(
    'detects the planted mistake that %s',
    (_, { parts, breaks }) => {
      const sums = simulateAll(120, { ...REAL_PARTS, ...parts });
      expect(sums[breaks]).toBeGreaterThan(0);
    },
  );
});
