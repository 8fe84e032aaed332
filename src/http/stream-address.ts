import { OptionError } from '../errors.js';
import { SECOND } from '../time.js';
import { Account } from './account.js';
import type { SettingName } from './settings.js';
import { realTime } from './timing.js';

/** What a replay re-delivers (service.md 4.3). */
export type StreamType = 'rulestream' | 'sample10' | 'firehose' | 'mentions' | 'compliance';

/** How long a stream may send nothing, in milliseconds. */
const MAX_QUIET = 30 * SECOND;

export const STREAM_TYPES: readonly string[] = [
  ...['rulestream', 'sample10', 'firehose', 'mentions', 'compliance'],
];

/** The address of a replay, but for its dates. */
export function replayUrl(account: Account, type: StreamType, label: string | undefined): URL {
  const { name, publisher } = namesOf(
    account,
    'replay streams',
    label === undefined ? ['replayStreamUrl', 'streamLabel'] : ['replayStreamUrl'],
  );
  const path = encodeURIComponent(
    type === 'rulestream' ? account.need('rulestream', 'replay streams') : type,
  );
  const stream = checkLabel('streamLabel', label ?? account.need('streamLabel', 'replay streams'));
  return below(
    account.need('replayStreamUrl', 'replay streams'),
    `replay/${path}/accounts/${name}/publishers/${publisher}/${stream}.json`,
  );
}

/** The address of the compliance stream, or of one partition of it (service.md 4.5). */
export function complianceUrl(
  account: Account,
  label: string | undefined,
  partition: number | undefined,
): URL {
  const { name, publisher } = namesOf(
    account,
    'the compliance stream',
    label === undefined ? ['complianceStreamUrl', 'complianceLabel'] : ['complianceStreamUrl'],
  );
  const stream = checkLabel(
    'complianceLabel',
    label ?? account.need('complianceLabel', 'the compliance stream'),
  );
  const url = below(
    account.need('complianceStreamUrl', 'the compliance stream'),
    `accounts/${name}/publishers/${publisher}/streams/compliance/${stream}.json`,
  );
  if (partition !== undefined) url.searchParams.set('partition', String(partition));
  return url;
}

/** A label as a segment of a path. */
export function checkLabel(option: string, label: unknown): string {
  if (typeof label !== 'string' || label === '' || /^\.\.?$/.test(label))
    throw new OptionError(option, `Expected \`${option}\` to be a name, got ${String(label)}`);
  return encodeURIComponent(label);
}

function namesOf(account: Account, purpose: string, names: readonly SettingName[]) {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  // An account whose time is a test's has a service whose heartbeats are, too.
  if (account.timing === realTime && account.timeouts.silenceMs <= MAX_QUIET)
    throw new OptionError(
      'timeouts.silenceMs',
      `\`timeouts.silenceMs\` is ${account.timeouts.silenceMs} ms, and must be more than ${MAX_QUIET} ms for ${purpose}: the service may be quiet for so long`,
    );
  account.needAll([...names, 'account', 'publisher', 'email', 'password'], purpose);
  return {
    name: encodeURIComponent(account.need('account', purpose)),
    publisher: encodeURIComponent(account.need('publisher', purpose)),
  };
}

function below(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  return url;
}
