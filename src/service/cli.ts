#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkValue, flag, text } from '../base/check.js';
import { MillraceError, OptionError } from '../base/errors.js';
import { type FlagDetails, type Flags, flagsOf, helpOf, readFlags } from '../base/flags.js';
import { SECOND } from '../base/time.js';
import { print as printTo } from '../storage/print.js';
import { addressesOfRunning, environmentOf, exportLines } from './account-variables.js';
import { type Addresses, addressesLine } from './http/addresses.js';
import { urlAt } from './http/listen.js';
import { splitPosts } from './posts/read-given.js';
import { createService, PORT } from './service.js';
import { SERVICE_OPTIONS, type ServiceOptions } from './service-options.js';

/** The details of flags for durations. The options take milliseconds, but the flags take seconds. */
const SECONDS = { placeholder: 'seconds', unit: SECOND };
const NAME = { placeholder: 'name' };

/** The options that have a flag, with details such as another name for the flag. */
const DETAILS: Readonly<
  Record<
    keyof Omit<ServiceOptions, 'posts' | 'countsTimeoutMs' | 'searchTimeoutMs' | 'onError'>,
    FlagDetails
  >
> = {
  archive: { placeholder: 'folder' },
  format: {},
  seed: {},
  postsPerMinute: { placeholder: 'number' },
  limits: {},
  perMinuteLimit: { name: 'per-minute' },
  account: NAME,
  label: NAME,
  streamLabel: NAME,
  complianceLabel: NAME,
  publisher: NAME,
  email: { placeholder: 'address' },
  password: {},
  duplicatesAtPageEdges: { name: 'duplicates' },
  countsOrder: {},
  jobDwellMs: { name: 'job-dwell', ...SECONDS },
  jobDollarsPerDay: { placeholder: 'number' },
  jobInfoLine: { name: 'no-info-line' },
  fileUrlMs: { name: 'file-url-seconds', ...SECONDS },
  filesPort: {},
  heartbeatMs: { name: 'heartbeat-seconds', ...SECONDS },
  streamBacklogBytes: { name: 'stream-backlog', placeholder: 'bytes' },
  replayPostsPerSecond: { placeholder: 'number' },
  complianceRate: { placeholder: 'number' },
  stateFolder: { name: 'state', placeholder: 'folder' },
  consumerKey: { placeholder: 'key' },
  consumerSecret: {},
  unapprovedConsumerKey: { placeholder: 'key' },
  unapprovedConsumerSecret: {},
  callbackUrls: { name: 'callback-url', placeholder: 'url', isRepeated: true },
  userPassword: {},
  usageAlert: {},
  usageCap: {},
  requestCap: {},
  accountStatus: {},
  host: { placeholder: 'address' },
  token: {},
  control: { name: 'no-control' },
};

const SERVICE_FLAGS: Flags = [
  ...flagsOf({ port: PORT }),
  ...flagsOf(SERVICE_OPTIONS, Object.keys(DETAILS) as (keyof typeof DETAILS)[], DETAILS),
  ...flagsOf(
    {
      posts: text('a file of exact posts'),
      json: flag('print one line of JSON once ready, and nothing else'),
      env: flag('print the variables for scripts of the service that runs at --port, and end'),
      version: flag('print the version'),
      help: flag('print this help'),
    },
    undefined,
    { posts: { placeholder: 'file' } },
  ),
];

const usage = () => `Usage: ${calledAs()} [options]

The whole service on this machine, over a folder of delivered job files or generated posts.

${helpOf(SERVICE_FLAGS)}
${calledAs()} check compares an account with the documentation of the service; see ${calledAs()} check --help.

Scripts read where it is from their environment. While it runs:
  eval "$(${calledAs()} --port 8080 --env)"      in a shell
  ${calledAs()} --port 8080 --env > service.env   for node --env-file=service.env
`;

const PARENT_CHECK_MS = 250;

/** The arguments, without the word `service` of `millrace service`. */
const ARGUMENTS = process.argv.slice(process.argv[2] === 'service' ? 3 : 2);

/**
 * The environment variable for the token, used if `--token` is not given. A variable is safer than a flag,
 * because other users of a machine can read command lines.
 */
const TOKEN_VARIABLE = 'MILLRACE_SERVICE_TOKEN';

try {
  await run();
} catch (error) {
  const isUsage = error instanceof OptionError;
  process.stderr.write(`${error instanceof MillraceError ? error.message : String(error)}\n`);
  if (isUsage) process.stderr.write('Run with --help to see all options\n');
  process.exitCode = isUsage ? 2 : 1;
}

async function run(): Promise<void> {
  // The service and its checks continue if the reader of their output closes the pipe.
  process.stdout.on('error', () => {});
  if (ARGUMENTS[0] === 'check') {
    // The checks use code of the client, so they are loaded only for this command.
    const { checkConformance } = await import('../command/conformance/conformance-command.js');
    process.exitCode = await checkConformance(ARGUMENTS.slice(1), calledAs());
    return;
  }
  const all = readFlags(calledAs(), SERVICE_FLAGS, ARGUMENTS);
  const { port, json, env, version, help, ...given } = all;
  if (help === true) return print(usage());
  if (version === true) return print(`${packageVersion()}\n`);
  if (env === true)
    return print(await environmentFor(port, { ...given, ...(json === true && { json }) }));
  const options = { ...given, ...tokenOption(given.token), ...postsOption(given.posts) };
  const service = createService({
    ...(options as ServiceOptions),
    onError: error => process.stderr.write(`${error instanceof Error ? error.stack : error}\n`),
  });
  let isEnding = false;
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    service.stop().then(
      () => process.exit(0),
      error => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  if (process.env.npm_lifecycle_event !== undefined) onParentGone(end);
  const addresses = await service.start(port as number | undefined);
  // A failure to print the addresses is only reported, because the service can still be used.
  await print(
    json === true
      ? `${addressesLine(addresses)}\n`
      : summary(addresses, options, await service.firstCommand()),
  ).catch(error => process.stderr.write(`${(error as Error).message}\n`));
}

function print(text: string): Promise<void> {
  return printTo(process.stdout, text, 'standard output');
}

/**
 * Reads posts from a file: one JSON object, an array of objects, or one object per line.
 *
 * @throws OptionError for a file that cannot be read, or that contains anything else.
 */
function postsOption(file: unknown): Pick<ServiceOptions, 'posts'> {
  if (file === undefined) return {};
  try {
    return { posts: splitPosts(readFileSync(String(file))) };
  } catch (cause) {
    if (cause instanceof OptionError) throw cause;
    throw new OptionError('posts', `Cannot read --posts ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function tokenOption(given: unknown): Pick<ServiceOptions, 'token'> {
  const token = given === undefined ? process.env[TOKEN_VARIABLE] : String(given);
  return { token: given === undefined && token === '' ? undefined : token };
}

function postsText({ archive, posts, postsPerMinute }: ServiceOptions): string {
  const others =
    typeof archive === 'string'
      ? archive
      : postsPerMinute === 0 || (posts !== undefined && postsPerMinute === undefined)
        ? ''
        : 'generated for any minute since 21 March 2006';
  const exact = posts === undefined ? '' : `${posts.length} from a file`;
  return [exact, others].filter(Boolean).join(', and ') || 'none';
}

/**
 * Calls `end` when the parent process is gone. npm sends a signal only to the shell that runs the script, and
 * the shell ends without forwarding it.
 */
function onParentGone(end: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) end();
  }, PARENT_CHECK_MS).unref();
}

async function environmentFor(
  port: unknown,
  { host = SERVICE_OPTIONS.host.otherwise, token, ...others }: Readonly<Record<string, unknown>>,
): Promise<string> {
  checkValue('millrace-service', 'port', PORT, port);
  checkValue('millrace-service', 'host', SERVICE_OPTIONS.host, host);
  if (port === undefined || port === 0)
    throw new OptionError(
      'port',
      '--env needs the --port of the service: without one it listens at any free port, which it prints when it starts',
    );
  if (Object.keys(others).length > 0)
    throw new OptionError(
      'env',
      '--env asks the service that runs at --port for all other options: give them when it starts, and here only --host, --port and --token',
    );
  const url = urlAt(String(host), Number(port));
  const startedBy = `${calledAs()} --port ${port}`;
  const addresses = await addressesOfRunning(url, tokenOption(token).token, startedBy);
  return exportLines(environmentOf(addresses, process.env));
}

function calledAs(): string {
  const {
    npm_command: npm,
    npm_lifecycle_event: event,
    npm_lifecycle_script: script,
  } = process.env;
  const [, file = 'millrace-service', first] = process.argv;
  const name = path.basename(file);
  const word = first === 'service' ? ' service' : '';
  const isScript = /\.[jt]s$/.test(name);
  if (npm === 'exec' && !isScript) return `npx ${name}${word}`;
  // npm sets these variables for all processes that a script starts, directly or not. Therefore, this also
  // checks that the script contains the name of this command.
  if (npm === 'run-script' && script?.includes(name)) return `npm run ${event} --${word}`;
  return (isScript ? `node ${path.relative('', file)}` : name) + word;
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

function summary(
  addresses: Addresses,
  options: ServiceOptions,
  firstCommand: string | undefined,
): string {
  const { baseUrl, consoleUrl, email, password, token } = addresses;
  const consoleLine =
    token === undefined
      ? `${consoleUrl} (${email}, ${password})`
      : `${consoleUrl}/sign-in?${new URLSearchParams({ token })}`;
  const control =
    token === undefined || options.control === false
      ? ''
      : `  control    curl -H 'Authorization: Bearer ${token}' ${baseUrl}/_control/clock\n`;
  const warning =
    token === undefined || options.password !== undefined
      ? ''
      : '\nOther machines get its posts with the login of the documentation, unless --password sets another.\n';
  const first =
    firstCommand === undefined
      ? `There are no posts yet: add some by POST ${baseUrl}/_control/posts, or put files with one post a line into the archive and start again.`
      : `Try it:\n  ${firstCommand}`;
  return `The service is ready.

  base URL   ${baseUrl}
  console    ${consoleLine}
${control}  posts      ${postsText(options)}
${warning}
For scripts in another shell, where account() then needs no options:
${exportLines(environmentOf(addresses, process.env)).replaceAll(/^(?=export)/gm, '  ')}
${first}

Ctrl+C ends it.
`;
}
