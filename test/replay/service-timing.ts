import type { Service } from 'millrace/service';
import type { Timing } from '../../src/http/timing.js';

export function timingOf({ clock }: Service): Timing {
  return {
    now: () => clock.now(),
    elapsed: () => clock.now(),
    random: () => 0.5,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      clock.advance(ms);
      await new Promise(resolve => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
}
