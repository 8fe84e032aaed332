import {
  type Addresses,
  createService,
  type Fault,
  type PlantedFault,
  type ServiceOptions,
} from '../../../src/service/index.js';
import { type ClockState, timeOf } from './fast-clock.js';

export interface HourSetting {
  readonly options: Partial<ServiceOptions>;
  readonly clock: ClockState;
}

export type ToService =
  | { readonly clock: ClockState }
  | { readonly plant: Fault }
  /** Clears all faults. The answer contains the faults that could still hit. */
  | { readonly clear: true };

export type FromService =
  /** `twin` is a service with the same posts and events but no limits, which the tests query. */
  | { readonly addresses: Addresses; readonly twin: Addresses }
  | { readonly clock: ClockState }
  | { readonly left: readonly PlantedFault[] };

const TICK_MS = 50;

// The service runs in a separate process, so that only the library's memory, files and time are
// measured.
const setting = JSON.parse(process.argv[2] ?? '') as HourSetting;
let { clock } = setting;
const realNow = Date.now;
// The service's own clock uses `Date.now`. With this replacement, limits are exact to the
// millisecond.
Date.now = () => timeOf(clock, realNow());
const service = createService(setting.options);
const twin = createService({ ...setting.options, limits: 'relaxed' });
const tick = () => {
  for (const one of [service, twin]) one.clock.reset();
};
const answer = (message: FromService) => process.send?.(message);
process.on('message', (message: ToService) => {
  if ('clock' in message) {
    clock = message.clock;
    tick();
    answer({ clock });
  } else if ('plant' in message) service.faults.plant(message.plant);
  else {
    answer({ left: service.faults.list() });
    service.faults.clear();
  }
});
// The parent process disconnects when the test has ended or was killed.
process.on('disconnect', () => process.exit());
answer({ addresses: await service.start(), twin: await twin.start() });
setInterval(tick, TICK_MS);
