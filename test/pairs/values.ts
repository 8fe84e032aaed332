import type { Domain, Row } from './covering-rows.js';

/** What values of options are made of. */
export interface Context {
  /** The folder of outputs. */
  readonly out: string;
  /** Called by functions of the caller. */
  readonly saw: (what: string, value: unknown) => void;
  /** Which run it is, from 1. */
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

/** The values of the options of each stage, by name. Those of `(…)` are no options. */
export type ValuesOfStages = Readonly<Record<string, Readonly<Record<string, Values>>>>;

/** The names of all values. The first one of an option is the simplest. */
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

/** An object lists names of digits first, but an option that is not given is simpler. */
function namesOf(values: Values): readonly string[] {
  const list = Object.keys(values);
  const isFirst = (name: string) => Number(name === 'not given' && /^\d/.test(list[0] ?? ''));
  return list.toSorted((a, b) => isFirst(b) - isFirst(a));
}

/** The options that a row gives a stage. */
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

/** Whether a later run of a row can continue where the last one has ended. */
export function hasCheckpoint(row: Row): boolean {
  return (
    row.committed === 'yes' ||
    Object.entries(row).some(([key, value]) => key.endsWith('.checkpoint') && value === 'given')
  );
}
