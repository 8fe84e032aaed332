#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { MillraceError, OptionError } from '../errors.js';
import { SECOND } from '../time.js';
import { type Addresses, addressesLine } from './http/addresses.js';
import { createService } from './service.js';
import type { ServiceOptions } from './service-options.js';

const USAGE = `Usage: npm run service -- [options]

The whole service on 127.0.0.1, over a folder of delivered job files or made-up posts.

  --port N                  port to listen on (default 0: any that is free)
  --archive FOLDER          folder of 10-minute gzip files; without it, made-up posts
  --format FORMAT           original (default) or activity_streams
  --limits LIMITS           strict (default) or relaxed: no rate limits
  --per-minute N            the contract's limit on search requests in a minute
  --seed TEXT               of the made-up posts and the next tokens
  --posts-per-minute N      made-up posts in an average minute
  --account NAME  --label NAME  --publisher NAME  --email ADDRESS  --password TEXT
  --stream-label NAME  --compliance-label NAME
  --heartbeat-seconds N     time without a message after which a stream sends a heartbeat
  --stream-backlog BYTES    what may wait for a slow consumer of a stream
  --replay-posts-per-second N  pace of a replay (default: that of the consumer)
  --compliance-rate N       compliance events per post of the archive, 0 (default) to 1
  --duplicates              repeat the last post of a page at the start of the next
  --counts-order ORDER      ascending (default) or descending
  --state FOLDER            keep jobs, their files and rules there, and go on with what it has
  --files-port N            port of the second origin, for data files (default 0)
  --file-url-seconds N      how long the URLs of data files are good (default: as long as the job)
  --job-dwell SECONDS       how long a job stays in each of its states at least
  --job-dollars-per-day N   price in quotes (default: included in the subscription)
  --no-info-line            data files without the info line at their end
  --consumer-key KEY  --consumer-secret TEXT  of the application that asks for engagement totals
  --unapproved-consumer-key KEY  --unapproved-consumer-secret TEXT  of one that may not
  --callback-url URL        registered for both; repeatable (default: oob and any of this machine)
  --user-password TEXT      with which authors of the archive sign in (default: --password)
  --usage-alert N  --usage-cap N  activities a month, for the usage report
  --request-cap N           search requests a month, for the usage report
  --account-status STATUS   active (default) or inactive, for the usage report
  --no-control              switch the control path /_control off
  --json                    print one line of JSON once ready, and nothing else
  --help
`;

const OPTIONS = {
  port: { type: 'string' },
  archive: { type: 'string' },
  format: { type: 'string' },
  limits: { type: 'string' },
  'per-minute': { type: 'string' },
  seed: { type: 'string' },
  'posts-per-minute': { type: 'string' },
  account: { type: 'string' },
  label: { type: 'string' },
  publisher: { type: 'string' },
  'stream-label': { type: 'string' },
  'compliance-label': { type: 'string' },
  'heartbeat-seconds': { type: 'string' },
  'stream-backlog': { type: 'string' },
  'replay-posts-per-second': { type: 'string' },
  'compliance-rate': { type: 'string' },
  email: { type: 'string' },
  password: { type: 'string' },
  duplicates: { type: 'boolean' },
  'counts-order': { type: 'string' },
  state: { type: 'string' },
  'files-port': { type: 'string' },
  'file-url-seconds': { type: 'string' },
  'job-dwell': { type: 'string' },
  'job-dollars-per-day': { type: 'string' },
  'no-info-line': { type: 'boolean' },
  'consumer-key': { type: 'string' },
  'consumer-secret': { type: 'string' },
  'unapproved-consumer-key': { type: 'string' },
  'unapproved-consumer-secret': { type: 'string' },
  'callback-url': { type: 'string', multiple: true },
  'user-password': { type: 'string' },
  'usage-alert': { type: 'string' },
  'usage-cap': { type: 'string' },
  'request-cap': { type: 'string' },
  'account-status': { type: 'string' },
  'no-control': { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

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
  const values = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const options: ServiceOptions = {
    archive: values.archive,
    format: values.format as ServiceOptions['format'],
    limits: values.limits as ServiceOptions['limits'],
    perMinuteLimit: numberOf(values['per-minute']),
    seed: values.seed,
    postsPerMinute: numberOf(values['posts-per-minute']),
    account: values.account,
    label: values.label,
    publisher: values.publisher,
    streamLabel: values['stream-label'],
    complianceLabel: values['compliance-label'],
    heartbeatMs: millisecondsOf(values['heartbeat-seconds']),
    streamBacklogBytes: numberOf(values['stream-backlog']),
    replayPostsPerSecond: numberOf(values['replay-posts-per-second']),
    complianceRate: numberOf(values['compliance-rate']),
    email: values.email,
    password: values.password,
    duplicatesAtPageEdges: values.duplicates,
    countsOrder: values['counts-order'] as ServiceOptions['countsOrder'],
    stateFolder: values.state,
    filesPort: numberOf(values['files-port']),
    fileUrlMs: millisecondsOf(values['file-url-seconds']),
    jobDwellMs: millisecondsOf(values['job-dwell']),
    jobDollarsPerDay: numberOf(values['job-dollars-per-day']),
    jobInfoLine: values['no-info-line'] ? false : undefined,
    consumerKey: values['consumer-key'],
    consumerSecret: values['consumer-secret'],
    unapprovedConsumerKey: values['unapproved-consumer-key'],
    unapprovedConsumerSecret: values['unapproved-consumer-secret'],
    callbackUrls: values['callback-url'],
    userPassword: values['user-password'],
    usageAlert: numberOf(values['usage-alert']),
    usageCap: numberOf(values['usage-cap']),
    requestCap: numberOf(values['request-cap']),
    accountStatus: values['account-status'] as ServiceOptions['accountStatus'],
    control: values['no-control'] ? false : undefined,
    onError: error => process.stderr.write(`${error instanceof Error ? error.stack : error}\n`),
  };
  const service = createService(options);
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
  const addresses = await service.start(numberOf(values.port) ?? 0);
  process.stdout.write(
    values.json ? `${addressesLine(addresses)}\n` : summary(addresses, values.archive),
  );
}

/** npm hands a signal to the shell that it runs scripts in, and the shell ends without a word to its child. */
function onParentGone(end: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) end();
  }, PARENT_CHECK_MS).unref();
}

function readArguments() {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    throw new OptionError('arguments', (error as Error).message, { cause: error });
  }
}

/** Text that is no number stays what it is, for the check of the option to name. */
function numberOf(text: string | undefined): number | undefined {
  const isNumber = text !== undefined && text.trim() !== '' && !Number.isNaN(Number(text));
  return isNumber ? Number(text) : (text as unknown as number | undefined);
}

function millisecondsOf(seconds: string | undefined): number | undefined {
  const number = numberOf(seconds);
  return typeof number === 'number' ? number * SECOND : number;
}

function summary(addresses: Addresses, archive: string | undefined): string {
  const { baseUrl, consoleUrl, account, label, publisher, email, password } = addresses;
  const posts = archive === undefined ? 'made up for any minute since 21 March 2006' : archive;
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
