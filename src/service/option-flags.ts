import type { ParseArgsConfig } from 'node:util';
import { flag, type Option } from '../base/check.js';
import { SECOND } from '../base/time.js';
import { PORT } from './service.js';
import { SERVICE_OPTIONS, type ServiceOptions } from './service-options.js';

/**
 * How the text of a flag becomes the value of its option: `seconds` are converted to milliseconds, `list` may be
 * repeated, a `switch` takes no text, and turns the option on, or off where it is on by default.
 */
type FlagKind = 'text' | 'number' | 'seconds' | 'list' | 'switch';

/**
 * The name of a flag without its dashes, the placeholder of its text in the help, and its kind. A placeholder `N` means
 * a number, none a switch.
 */
type FlagForm = readonly [name: string, placeholder?: string, kind?: FlagKind];

interface Flag {
  /** The name of the option. */
  readonly option: string;
  readonly described: Option<unknown>;
  readonly name: string;
  readonly placeholder: string;
  readonly kind: FlagKind;
}

/** The flags of the options that a command line can give. */
const SERVICE_FLAGS: Readonly<
  Record<keyof Omit<ServiceOptions, 'countsTimeoutMs' | 'searchTimeoutMs' | 'onError'>, FlagForm>
> = {
  archive: ['archive', 'FOLDER'],
  posts: ['posts', 'FILE'],
  format: ['format', 'FORMAT'],
  seed: ['seed', 'TEXT'],
  postsPerMinute: ['posts-per-minute', 'N'],
  limits: ['limits', 'LIMITS'],
  perMinuteLimit: ['per-minute', 'N'],
  account: ['account', 'NAME'],
  label: ['label', 'NAME'],
  streamLabel: ['stream-label', 'NAME'],
  complianceLabel: ['compliance-label', 'NAME'],
  publisher: ['publisher', 'NAME'],
  email: ['email', 'ADDRESS'],
  password: ['password', 'TEXT'],
  duplicatesAtPageEdges: ['duplicates'],
  countsOrder: ['counts-order', 'ORDER'],
  jobDwellMs: ['job-dwell', 'SECONDS', 'seconds'],
  jobDollarsPerDay: ['job-dollars-per-day', 'N'],
  jobInfoLine: ['no-info-line'],
  fileUrlMs: ['file-url-seconds', 'N', 'seconds'],
  filesPort: ['files-port', 'N'],
  heartbeatMs: ['heartbeat-seconds', 'N', 'seconds'],
  streamBacklogBytes: ['stream-backlog', 'BYTES', 'number'],
  replayPostsPerSecond: ['replay-posts-per-second', 'N'],
  complianceRate: ['compliance-rate', 'N'],
  stateFolder: ['state', 'FOLDER'],
  consumerKey: ['consumer-key', 'KEY'],
  consumerSecret: ['consumer-secret', 'TEXT'],
  unapprovedConsumerKey: ['unapproved-consumer-key', 'KEY'],
  unapprovedConsumerSecret: ['unapproved-consumer-secret', 'TEXT'],
  callbackUrls: ['callback-url', 'URL', 'list'],
  userPassword: ['user-password', 'TEXT'],
  usageAlert: ['usage-alert', 'N'],
  usageCap: ['usage-cap', 'N'],
  requestCap: ['request-cap', 'N'],
  accountStatus: ['account-status', 'STATUS'],
  host: ['host', 'ADDRESS'],
  token: ['token', 'TEXT'],
  control: ['no-control'],
};

/** Flags of the command itself, each with its meaning. */
const COMMAND_FLAGS = {
  json: 'print one line of JSON once ready, and nothing else',
  env: 'print the variables for scripts of the service that runs at --port, and end',
  version: 'print the version',
  help: 'print this',
};

/** The kinds of some placeholders. */
const KINDS: Readonly<Record<string, FlagKind>> = { '': 'switch', N: 'number' };

const FLAGS: readonly Flag[] = [
  flagOf('port', PORT, ['port', 'N']),
  ...Object.entries(SERVICE_FLAGS).map(([name, form]) =>
    flagOf(name, SERVICE_OPTIONS[name as keyof typeof SERVICE_OPTIONS], form),
  ),
  ...Object.entries(COMMAND_FLAGS).map(([name, meaning]) => flagOf(name, flag(meaning), [name])),
];

function flagOf(option: string, described: Option<unknown>, form: FlagForm): Flag {
  const [name, placeholder = '', kind = KINDS[placeholder] ?? 'text'] = form;
  return { option, described, name, placeholder, kind };
}

/** The flags in the form of `parseArgs`. */
export function flagConfig(): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    FLAGS.map(({ name, kind }) => {
      const type = kind === 'switch' ? 'boolean' : 'string';
      return [name, { type, multiple: kind === 'list' }];
    }),
  );
}

/** The options that the values of `parseArgs` give. */
export function optionsFromFlags(
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = FLAGS.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(given.map(flag => [flag.option, optionValue(flag, values[flag.name])]));
}

/** A line of help for each flag. */
export function flagHelp(): string {
  return FLAGS.map(({ described, name, placeholder, kind }) => {
    const { meaning, otherwise, isSecret } = described;
    const left = `--${name} ${placeholder}`.trimEnd().padEnd(33);
    const isShown =
      isSecret !== true && (typeof otherwise === 'string' || Number.isFinite(otherwise));
    return `  ${left} ${meaning}${isShown ? ` (default ${kind === 'seconds' ? Number(otherwise) / SECOND : otherwise})` : ''}\n`;
  }).join('');
}

function optionValue({ kind, described }: Flag, value: unknown): unknown {
  if (kind === 'switch') return described.otherwise !== true;
  if (kind === 'number') return numberOf(value);
  if (kind !== 'seconds') return value;
  const seconds = numberOf(value);
  return typeof seconds === 'number' ? seconds * SECOND : seconds;
}

/** Text that is not a number stays text, so that the check of the option reports it. */
function numberOf(text: unknown): unknown {
  const isNumber = String(text).trim() !== '' && !Number.isNaN(Number(text));
  return isNumber ? Number(text) : text;
}
