import { createInterface } from 'node:readline/promises';
import { flag, text } from '../../base/check.js';
import { didYouMean } from '../../base/closest.js';
import { MillraceError, OptionError } from '../../base/errors.js';
import { flagsOf, helpOf, readFlags } from '../../base/flags.js';
import { isLoopback } from '../../base/is-loopback.js';
import { type Account, account } from '../../http/account.js';
import { loadVariables, SETTINGS, type UrlSettingName } from '../../http/settings.js';
import { CHECK_FAMILIES, CHECKED_ENDPOINTS, type CheckFamily } from './check-table.js';
import { type CheckResult, type ChosenChecks, chooseChecks, runChecks } from './run-checks.js';

const FLAGS = flagsOf(
  {
    only: text(`families to check, of ${CHECK_FAMILIES.join(', ')} (default: those with settings)`),
    query: text('a query that finds posts in the last 30 days'),
    rates: flag('exceed the rate of search, too, by 25 more requests at once'),
    envFile: text('a file of variables, such as MILLRACE_URL'),
    json: flag('print one JSON object instead of a table'),
    yes: flag('send the requests to an account that is not on this machine, without a question'),
    help: flag('print this help'),
  },
  undefined,
  {
    only: { placeholder: 'list' },
    query: { placeholder: 'query', fallback: 'coffee' },
    envFile: { placeholder: 'file' },
  },
);

const EXIT = { same: 0, differs: 1, unreachable: 3 };

/**
 * `millrace-service check`: compares the service's responses with its documentation, for the account that the
 * environment variables set.
 *
 * @param calledAs The name of the program, for the help.
 * @returns The exit code: 1 if something differs, 3 if the service cannot be reached.
 * @throws OptionError if the arguments or the login are wrong.
 */
export async function checkConformance(args: readonly string[], calledAs: string): Promise<number> {
  const given = readFlags(`${calledAs} check`, FLAGS, args);
  if (given.help === true) {
    process.stdout.write(help(calledAs));
    return EXIT.same;
  }
  if (given.envFile !== undefined) loadVariables(String(given.envFile));
  await using acme = account();
  const families = familiesOf(given.only === undefined ? undefined : String(given.only));
  const chosen = chooseChecks(acme, families, { withRates: given.rates === true });
  if (chosen.requests === 0) throw nothingToCheck(acme, chosen);
  // Printed to stderr, because standard output is only for the report.
  process.stderr.write(`${announcement(acme, chosen)}\n`);
  if (given.yes !== true && !isOnThisMachine(acme, chosen)) await confirm();
  const results: CheckResult[] = [];
  try {
    for await (const result of runChecks(acme, chosen.checks, { query: String(given.query) })) {
      results.push(result);
      if (given.json !== true) process.stdout.write(lineOf(result));
    }
  } catch (error) {
    if (!(error instanceof MillraceError) || error instanceof OptionError) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT.unreachable;
  }
  const differing = results.filter(({ result }) => result === 'differs').length;
  const { requests, searches, posts, skipped } = chosen;
  process.stdout.write(
    given.json === true
      ? `${JSON.stringify({ requests, searches, posts, differing, skipped, checks: results })}\n`
      : `\n${summaryOf(results, differing)}\n`,
  );
  return differing === 0 ? EXIT.same : EXIT.differs;
}

function familiesOf(only: string | undefined): readonly CheckFamily[] {
  if (only === undefined) return CHECK_FAMILIES;
  return only.split(',').map(text => {
    const family = CHECK_FAMILIES.find(name => name === text.trim());
    if (family !== undefined) return family;
    const hint =
      didYouMean(text, CHECK_FAMILIES, meant => meant) ?? `known are ${CHECK_FAMILIES.join(', ')}`;
    throw new OptionError('only', `--only: there is no family ${JSON.stringify(text)}; ${hint}`);
  });
}

function originsOf(account: Account, { checks }: ChosenChecks): readonly URL[] {
  const names = new Set<UrlSettingName>(
    checks.map(({ endpoint }) => CHECKED_ENDPOINTS[endpoint].base),
  );
  return [...names].flatMap(name => account.settings[name] ?? []);
}

function isOnThisMachine(account: Account, chosen: ChosenChecks): boolean {
  return originsOf(account, chosen).every(({ hostname }) => isLoopback(hostname));
}

function nothingToCheck(account: Account, { skipped }: ChosenChecks): OptionError {
  const names = skipped.flatMap(({ settings }) => settings);
  const variables = new Set(
    names.map(name => SETTINGS[name as keyof typeof SETTINGS].env as string),
  );
  const of =
    account.settings.account === undefined
      ? 'an account'
      : `the account ${account.settings.account}`;
  return new OptionError(
    'settings',
    `There is nothing to check, since settings of ${of} are missing: ${[...variables].join(', ')}`,
  );
}

function announcement(account: Account, chosen: ChosenChecks): string {
  const origins = new Set(originsOf(account, chosen).map(({ origin }) => origin));
  const { requests, searches, posts, skipped } = chosen;
  const left = skipped
    .map(({ family, settings }) => `\nWithout ${family}: no ${settings.join(', ')}.`)
    .join('');
  return `${requests} requests to ${[...origins].join(', ')}, which change nothing: ${searches} of search and counts that are answered, and may count against a cap, with ${posts} posts at most.${left}`;
}

/**
 * Asks the user on the terminal whether to send the requests.
 *
 * @throws OptionError if there is no terminal, or if the answer is not `y` or `yes`.
 */
async function confirm(): Promise<void> {
  const hint = 'to send requests to it, pass --yes';
  if (!process.stdin.isTTY)
    throw new OptionError('yes', `The account is not on this machine: ${hint}`);
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question('Continue? (y/N) ');
  asking.close();
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new OptionError('yes', 'Not confirmed: nothing was sent');
}

function lineOf({ name, family, result, differences }: CheckResult): string {
  const rows = differences.map(
    ({ what, expected, got, rule }) =>
      `    ${what}\n      expected  ${expected}\n      got       ${got}\n      rule      ${rule}\n`,
  );
  return `${result.padEnd(9)} ${family.padEnd(12)} ${name}\n${rows.join('')}`;
}

function summaryOf(results: readonly CheckResult[], differing: number): string {
  const done = results.filter(({ result }) => result !== 'skipped').length;
  const left = results.length - done;
  const rest = left === 0 ? '' : `; ${left} skipped, since there were no posts for them`;
  return differing === 0
    ? `${done} checks, all as documented${rest}.`
    : `${differing} of ${done} checks differ${rest}.`;
}

function help(calledAs: string): string {
  return `Usage: ${calledAs} check [options]

Compares what an account answers with the documentation of the service, by some forty requests that change nothing:
statuses, error bodies, headers, defaults, the order of checks and the edges of windows. The account's settings are
variables such as MILLRACE_URL. It ends with 1 if something differs, and with 3 if the service cannot be reached.

${helpOf(FLAGS)}`;
}
