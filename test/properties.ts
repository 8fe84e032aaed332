import { once } from 'node:events';

const ends = new EventTarget();
let running = 0;
let isEnding = false;

/** For `fc.configureGlobal`: counts the runs of properties, and begins no other one while they end. */
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
 * Ends the properties that run. A test that fails by its time limit leaves its property in the middle of a run, which
 * would continue beside the next tests, and move a clock that they share.
 */
export async function endProperties(): Promise<void> {
  if (running === 0) return;
  isEnding = true;
  while (running > 0) await once(ends, 'end');
  // The property asks for its next run once this one has ended.
  await new Promise(resolve => setImmediate(resolve));
  isEnding = false;
}
