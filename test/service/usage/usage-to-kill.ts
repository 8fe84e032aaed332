import { setTimeout } from 'node:timers/promises';
import { Clock } from '../../../src/service/clock.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { UsageMeter } from '../../../src/service/usage/usage-meter.js';

// Counts some posts and stores the counts in a folder. Waits to be killed.
const clock = new Clock();
clock.freeze();
clock.set(Date.UTC(2024, 0, 1));
const meter = new UsageMeter(clock, {
  stateFolder: String(process.argv[2]),
  limits: limitsOf('strict'),
  onError: error => {
    throw error;
  },
});
meter.requested('30day');
meter.delivered(
  '30day',
  Array.from({ length: 4_500 }, (_, i) => String(i + 1)),
);
meter.delivered(
  '30day',
  Array.from({ length: 1_000 }, (_, i) => String(i + 4_001)),
);
await setTimeout(2_000);
process.stdout.write('counted\n');
await setTimeout(60_000);
