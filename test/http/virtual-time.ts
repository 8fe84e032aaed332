import type { Timing } from '../../src/http/timing.js';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/**
 * A clock that only the test advances. `run` jumps from one timer to the next until no timer is
 * left.
 */
export class VirtualTime implements Timing {
  readonly slept: number[] = [];
  #elapsed = 0;
  #timers: Timer[] = [];

  now(): number {
    return Date.UTC(2024, 0, 1) + this.#elapsed;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  random(): number {
    return 0.5;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.slept.push(ms);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = this.at(this.#elapsed + ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = () => {
        this.#timers = this.#timers.filter(other => other !== timer);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  at(elapsed: number, fire: () => void): Timer {
    const timer = { at: elapsed, fire };
    this.#timers.push(timer);
    return timer;
  }

  get timers(): number {
    return this.#timers.length;
  }

  async run(until = Number.POSITIVE_INFINITY): Promise<void> {
    while (true) {
      await settled();
      const [next] = this.#timers.toSorted((a, b) => a.at - b.at);
      if (next === undefined || next.at > until) break;
      this.#timers = this.#timers.filter(timer => timer !== next);
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.fire();
    }
    if (Number.isFinite(until)) this.#elapsed = Math.max(this.#elapsed, until);
  }
}

/**
 * Returns a timing for calls that use real sockets. Its clock is the real clock, but its waits end
 * immediately.
 */
export function impatient(): Timing & { readonly slept: number[] } {
  const slept: number[] = [];
  let skipped = 0;
  return {
    slept,
    now: () => Date.now() + skipped,
    elapsed: () => performance.now() + skipped,
    random: () => 0.5,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      skipped += ms;
    },
  };
}

export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
