#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { flag } from '../check.js';
import { closest } from '../closest.js';
import { MillraceError, OptionError } from '../errors.js';
import { type Addresses, addressesLine } from './http/addresses.js';
import {
  type FlagTable,
  flagConfig,
  flagHelp,
  optionsFromFlags,
  withFlag,
} from './option-flags.js';
import { createService, PORT } from './service.js';
import { SERVICE_OPTIONS, type ServiceOptions } from './service-options.js';

const FLAGS: FlagTable = {
  port: withFlag(PORT, 'port', 'N'),
  ...SERVICE_OPTIONS,
  json: withFlag(flag('print one line of JSON once ready, and nothing else'), 'json', '', 'true'),
  help: withFlag(flag('print this'), 'help', '', 'true'),
};

const USAGE = `Usage: npm run service -- [options]

The whole service on 127.0.0.1, over a folder of delivered job files or generated posts.

${flagHelp(FLAGS)}`;

const PARENT_CHECK_MS = 250;

try {
  await run();
} catch (error) {
  const isUsage = error instanceof OptionError;
  process.stderr.write(`${error instanceof MillraceError ? error.message : String(error)}\n`);
  if (isUsage) process.stderr.write('Run with --help to see all options\n');
  process.exitCode = isUsage ? 2 : 1;
}

async function run(): Promise<void> {
  const { port, json, help, ...options } = readArguments();
  if (help === true) {
    process.stdout.write(USAGE);
    return;
  }
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
  // A reader of the summary that has gone is no reason to end.
  process.stdout.on('error', () => {});
  const addresses = await service.start(port as number | undefined);
  process.stdout.write(
    json === true
      ? `${addressesLine(addresses)}\n`
      : summary(addresses, options.archive as string | undefined),
  );
}

/** npm hands a signal to the shell that it runs scripts in, and the shell ends without a word to its child. */
function onParentGone(end: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) end();
  }, PARENT_CHECK_MS).unref();
}

function readArguments(): Record<string, unknown> {
  try {
    const { values } = parseArgs({ options: flagConfig(FLAGS), allowPositionals: false });
    return optionsFromFlags(FLAGS, values);
  } catch (error) {
    const { message } = error as Error;
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
    const meant = unknown && closest(unknown, Object.keys(flagConfig(FLAGS)));
    const hint = meant === undefined ? '' : `; did you mean --${meant}?`;
    throw new OptionError('arguments', message + hint, { cause: error });
  }
}

function summary(addresses: Addresses, archive: string | undefined): string {
  const { baseUrl, consoleUrl, account, label, publisher, email, password } = addresses;
  const posts = archive === undefined ? 'generated for any minute since 21 March 2006' : archive;
  return `The service is ready.

  base URL   ${baseUrl}
  console    ${consoleUrl}
  account    ${account}
  label      ${label}
  publisher  ${publisher}
  email      ${email}
  password   ${password}
  posts      ${posts}

Try it:
  curl -u '${email}:${password}' '${baseUrl}/search/30day/accounts/${account}/${label}.json?query=coffee&maxResults=10'

Ctrl+C ends it.
`;
}
