import { formatTimestamp } from '../../src/base/time.js';
import type { Domain, Row } from './covering-rows.js';

export interface Context {
  readonly out: string;
  readonly saw: (what: string, value: unknown) => void;
  /** The position of the run, starting at 1. */
  readonly run: number;
}

export type Values = Readonly<Record<string, (context: Context) => unknown>>;

export const unset = { 'not given': () => undefined };
export const is = (value: unknown) => () => value;
export const numbers = (...list: readonly number[]): Values => ({
  ...unset,
  ...Object.fromEntries(list.map(value => [String(value), is(value)])),
});
export const flags: Values = { ...unset, true: is(true), false: is(false) };
export const names: Values = { ...unset, given: is('a name') };
export const calls = (what: string): Values => ({
  ...unset,
  given:
    ({ saw }) =>
    (value: unknown) =>
      saw(what, value),
});

export const date = (time: number): Values => ({
  timestamp: is(formatTimestamp(time)),
  'a Date': is(new Date(time)),
});

/**
 * The values to try for each option of each stage. The keys are the names of stages, options and
 * values. An option name in parentheses, such as `(stop)`, is not an option of the stage, but
 * another condition that the runs vary.
 */
export type ValuesOfStages = Readonly<Record<string, Readonly<Record<string, Values>>>>;

export function domainOf(values: ValuesOfStages): Domain {
  return Object.fromEntries(
    Object.entries(values).map(([stage, options]) => [
      stage,
      Object.fromEntries(
        Object.entries(options).map(([option, named]) => [option, namesOf(named)]),
      ),
    ]),
  );
}

/**
 * Returns the names of values. Puts `not given` first, because it is the simplest value. JavaScript
 * would put names that consist of digits before it.
 */
function namesOf(values: Values): readonly string[] {
  const list = Object.keys(values);
  const isFirst = (name: string) => Number(name === 'not given' && /^\d/.test(list[0] ?? ''));
  return list.toSorted((a, b) => isFirst(b) - isFirst(a));
}

export function optionsIn(
  row: Row,
  stage: string,
  values: ValuesOfStages,
  context: Context,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values[stage]!).flatMap(([option, named]) => {
      const name = row[`${stage}.${option}`];
      const isGiven = !option.startsWith('(') && name !== undefined && name !== 'not given';
      return isGiven ? [[option, named[name]!(context)]] : [];
    }),
  );
}

export function hasCheckpoint(row: Row): boolean {
  return (
    row.committed === 'yes' ||
    Object.entries(row).some(([key, value]) => key.endsWith('.checkpoint') && value === 'given')
  );
}
