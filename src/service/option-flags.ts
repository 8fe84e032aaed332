import { flag, text } from '../base/check.js';
import { type FlagDetails, type Flags, flagsOf } from '../base/flags.js';
import { SECOND } from '../base/time.js';
import { PORT } from './service.js';
import { SERVICE_OPTIONS, type ServiceOptions } from './service-options.js';

/** Options with a duration: seconds on the command line. */
const SECONDS = { placeholder: 'seconds', unit: SECOND };
const NAME = { placeholder: 'name' };

/** The options that a command line can give, with what their flags are called if not as they are. */
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

/** The flags of the service: those of its options, and of the command itself. */
export const SERVICE_FLAGS: Flags = [
  ...flagsOf({ port: PORT }),
  ...flagsOf(SERVICE_OPTIONS, Object.keys(DETAILS) as (keyof typeof DETAILS)[], DETAILS),
  ...flagsOf(
    {
      posts: text('a file of exact posts'),
      json: flag('print one line of JSON once ready, and nothing else'),
      env: flag('print the variables for scripts of the service that runs at --port, and end'),
      version: flag('print the version'),
      help: flag('print this'),
    },
    undefined,
    { posts: { placeholder: 'file' } },
  ),
];
