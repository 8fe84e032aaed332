import { once } from 'node:events';

const ends = new EventTarget();
let running = 0;
let isEnding = false;

/**
 * Hooks for `fc.configureGlobal`. They count the properties that are running. While `endProperties`
 * ends these properties, the hooks prevent new runs.
 */
export const propertyHooks = {
  beforeEach() {
    if (isEnding) throw new Error('The test of this property has ended');
    running++;
  },
  afterEach() {
    running--;
    ends.dispatchEvent(new Event('end'));
  },
};

/**
 * Ends all running properties. If a test times out, its property is in the middle of a run. Without
 * this, the property would continue during the next tests, and could change a clock that they
 * share.
 */
export async function endProperties(): Promise<void> {
  if (running === 0) return;
  isEnding = true;
  while (running > 0) await once(ends, 'end');
  // A property asks for its next run only after the last one has ended, so this waits one more turn.
  await new Promise(resolve => setImmediate(resolve));
  isEnding = false;
}
