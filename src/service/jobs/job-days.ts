import { DAY, floorTo, type Window } from '../../time.js';

/** UTC days of which a window holds at least a minute (service.md 2.5). */
export function jobDays({ from, to }: Window): number {
  return to <= from ? 0 : (floorTo(DAY, to - 1) - floorTo(DAY, from)) / DAY + 1;
}
