import { type OptionTable, orGroup, special } from '../../check.js';

/** Minimum milliseconds of the states that a job leaves by itself. */
export interface JobDwell {
  readonly opened: number;
  readonly estimating: number;
  readonly accepted: number;
  readonly running: number;
  readonly completed: number;
}

const dwell = <Else extends number | undefined = undefined>(otherwise?: Else) =>
  special<number, Else>(
    'minimum time of a job in each state',
    'milliseconds, 0 or more',
    value => typeof value === 'number' && value >= 0,
    otherwise as Else,
  );

const DWELL_OPTIONS = {
  opened: dwell(500),
  estimating: dwell(1_000),
  accepted: dwell(500),
  running: dwell(2_000),
  completed: dwell(500),
} satisfies OptionTable<Partial<JobDwell>>;

/** The option `jobDwellMs`: one number for all states, or an object of them. */
export const JOB_DWELL = orGroup(dwell(), DWELL_OPTIONS as OptionTable<Partial<JobDwell>>);

/** The times of a checked `jobDwellMs`. */
export function dwellOf(option: number | Partial<JobDwell>): JobDwell {
  if (typeof option !== 'number') return option as JobDwell;
  const all = option;
  return { opened: all, estimating: all, accepted: all, running: all, completed: all };
}
