import type { Domain, Row, Rules } from './covering-rows.js';

/** Completes a combination of options: gives every missing option its first value. */
export function completed(given: Row, domain: Domain, { always }: Rules): Row {
  const row: Record<string, string> = { tee: 'no', ...given };
  for (const key of Object.keys(given)) row[key.split('.')[0]!] = 'yes';
  row.tee = given.tee ?? (Object.keys(given).some(key => key.startsWith('tee')) ? 'yes' : 'no');
  for (const [stage, options] of Object.entries(domain)) {
    row[stage] ??= always.includes(stage) ? 'yes' : 'no';
    if (row[stage] === 'no') continue;
    for (const [option, [first]] of Object.entries(options)) row[`${stage}.${option}`] ??= first!;
  }
  return row;
}

function notFirst(row: Row, domain: Domain, { always }: Rules): Row {
  const isFirst = ([key, value]: readonly [string, string]) => {
    const [stage = '', option = ''] = key.split('.');
    return option === ''
      ? value === 'no' || always.includes(stage)
      : domain[stage]![option]![0] === value;
  };
  return Object.fromEntries(Object.entries(row).filter(entry => !isFirst(entry)));
}

/**
 * Reduces a failing combination of options. Sets as many options as possible to their first value.
 * Returns the error of the reduced combination.
 * @param errorOf Runs a row. Returns `undefined` if the row passes.
 */
export async function smallestFailure(
  row: Row,
  domain: Domain,
  rules: Rules,
  errorOf: (row: Row) => Promise<unknown>,
): Promise<Error> {
  let least = row;
  for (const key of Object.keys(notFirst(row, domain, rules)).toSorted()) {
    const { [key]: removed, ...others } = notFirst(least, domain, rules);
    if (removed === undefined) continue;
    const isOfStage = (other: string) => !key.includes('.') && other.startsWith(`${key}.`);
    const without = Object.fromEntries(
      Object.entries(others).filter(([other]) => !isOfStage(other)),
    );
    const smaller = completed(without, domain, rules);
    if (rules.conflicts.some(({ holds }) => holds(smaller))) continue;
    if ((await errorOf(smaller)) !== undefined) least = smaller;
  }
  const values = JSON.stringify(notFirst(least, domain, rules), null, 1);
  return new Error(`It fails with ${values}`, { cause: await errorOf(least) });
}
