import { propertySeed } from '../property-seed.js';
import { seeded } from '../storage/simulated-disk.js';
import { isEveryday, isNightly } from '../suite.js';
import { type Covering, coveringRows, type Domain, type Row, type Rules } from './covering-rows.js';

/**
 * The nightly suite uses a different seed every night. The rows of each seed cover all pairs of
 * values, so over time the suite also tries more combinations of three or more values.
 */
const SEED = isNightly ? (propertySeed(process.env.MILLRACE_SEED) ?? Date.now()) : 1;

/** How many runs of a row are stopped before one may complete, if the row stops its runs at all. */
export const STOPPED_RUNS = 2;

/**
 * Combinations of options that together cover all pairs of values. `tried` contains the
 * combinations that the suite runs. The everyday suite runs every fourth one.
 */
export interface SuiteRows extends Covering {
  readonly tried: readonly TriedRow[];
}

/** A row to try. The string is for the title of its test. Vitest shortens strings in objects. */
type TriedRow = readonly [string, { readonly row: Row; readonly number: number }];

export function suiteRows(domain: Domain, rules: Rules): SuiteRows {
  const covering = coveringRows(domain, rules, seeded(SEED));
  const all = covering.rows.map(
    (row, number): TriedRow => [`combination ${number}: ${summaryOf(row, rules)}`, { row, number }],
  );
  return { ...covering, tried: all.filter(([, { number }]) => !isEveryday || number % 4 === 0) };
}

/** Names the conditions and the stages: `source: folder, stop: none, gunzip, dedupe, files`. */
function summaryOf(row: Row, { always }: Rules): string {
  const conditions = Object.entries(row).flatMap(([key, value]) => {
    const [, name] = /^flow\.\((.+)\)$/.exec(key) ?? [];
    return name === undefined ? [] : [`${name}: ${value}`];
  });
  const stages = Object.keys(row).filter(
    key => !key.includes('.') && row[key] === 'yes' && !always.includes(key),
  );
  return [...conditions, ...stages].join(', ');
}
