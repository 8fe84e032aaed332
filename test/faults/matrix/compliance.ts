import { setTimeout as sleep } from 'node:timers/promises';
import type { Tombstones } from 'millrace';
import type { Random } from '../random.js';
import { minuteOf } from './windows.js';
import type { World } from './world.js';

const BURSTS = 5;
const BURST_EVENTS = 8;
const FIRST_ID = 1_790_000_000_000_000_001n;

interface Sent {
  readonly id: string;
  /** The minute of the stream that it is in. */
  readonly minute: string;
}

export interface Gap {
  readonly fromDate: string;
  readonly toDate: string;
}

/** The events of one trial: sent in bursts while the stream runs, and looked up in its tombstones. */
export class ComplianceEvents {
  readonly #world: World;
  readonly #random: Random;
  readonly #sent: Sent[] = [];
  #bursts = 0;
  readonly #isConnected: () => boolean;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    const { faults } = world.service;
    // A delay of nothing counts the connections.
    const { id } = faults.plant({ kind: 'delay', ms: 0, endpoint: 'compliance', times: 'always' });
    this.#isConnected = () => faults.list().some(fault => fault.id === id && fault.hits > 0);
  }

  get count(): number {
    return this.#sent.length;
  }

  /** Sends the next burst. */
  burst(): void {
    if (this.#bursts++ < BURSTS) this.more();
  }

  /** Sends some events now. */
  more(): void {
    const { clock, compliance } = this.#world.service;
    for (let event = 0; event < BURST_EVENTS; event++) {
      const id = String(FIRST_ID + BigInt(this.#sent.length * 7));
      compliance.inject(
        `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":1,"user_id_str":"1"},"timestamp_ms":"${clock.now()}"}}`,
      );
      this.#sent.push({ id, minute: minuteOf(clock.now()) });
    }
  }

  /**
   * Sends all bursts, and resolves once every event has a tombstone or lies in a gap.
   *
   * @param mayChange Whether an event may arrive with another id, too.
   */
  async arrive(
    tombstones: () => Tombstones | undefined,
    gaps: readonly Gap[],
    signal: AbortSignal,
    mayChange = false,
  ): Promise<void> {
    while (true) {
      signal.throwIfAborted();
      // Later, all would come from the replay of what was before the connection.
      if (!this.#isConnected()) {
        await sleep(2);
        continue;
      }
      this.burst();
      await sleep(this.#random.whole(2, 12));
      // Minutes pass, so that what was missed is old enough for a replay.
      this.#world.service.clock.advance(20_000);
      const store = tombstones();
      if (store === undefined || this.#bursts < BURSTS) continue;
      const missing = this.#sent.filter(({ id }) => store.post(id)?.deleted !== true);
      if (missing.some(event => !isIn(gaps, event))) continue;
      const found = this.count - missing.length;
      if (store.size < found || (store.size > found && !mayChange))
        throw new Error(`${store.size} tombstones for ${found} events`);
      return;
    }
  }
}

function isIn(gaps: readonly Gap[], { minute }: Sent): boolean {
  return gaps.some(({ fromDate, toDate }) => fromDate <= minute && minute < toDate);
}
