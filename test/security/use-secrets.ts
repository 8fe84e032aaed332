// Makes every call with secret credentials. The local service refuses requests, breaks connections
// and echoes what it has received. Prints every error and result in every form. Outputs,
// checkpoints and temporary files go to `folder`. The service's state and the user's tokens go to
// `secret`, because they are secret themselves.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  account,
  collect,
  compliance,
  counts,
  engagement,
  files,
  intoTombstones,
  jobs,
  openTombstones,
  pipeline,
  replay,
  replayRules,
  search,
  stdout,
  take,
  usage,
  users,
} from 'millrace';
import { createService, type Fault } from 'millrace/service';
import { impatient } from '../http/virtual-time.js';
import { bySuite, isNightly } from '../suite.js';
import { show } from './secrets.js';

const [folder = '', secret = '', ...more] = process.argv.slice(2);
const [password = '', consumerSecret = '', userPassword = ''] = more;
const at = (name: string) => path.join(folder, name);

const service = createService({
  password,
  consumerSecret,
  userPassword,
  limits: 'relaxed',
  jobDwellMs: 0,
  heartbeatMs: 50,
  complianceRate: 1,
  stateFolder: secret,
  postsPerMinute: 3,
});
const addresses = await service.start();
const acme = account(
  {
    ...addresses,
    password,
    consumerSecret,
    timing: impatient(),
    retry: { attempts: 2 },
    limits: { replay: [], compliance: [], search: [], jobReads: [], usage: [], replayRules: [] },
    onRetry: retrying => show('retry', retrying),
  },
  {},
);
show('account', acme);

async function consent(address: string): Promise<void> {
  const [post] = await pipeline(
    search(acme, { product: '30day', query: 'coffee -is:retweet', limit: 1 }),
    collect(),
  );
  const user = await service.oauth.signIn(post?.author.handle ?? '', userPassword);
  const token = new URL(address).searchParams.get('oauth_token') ?? '';
  const approved = user && (await service.oauth.approve(token, user));
  if (approved && 'redirect' in approved) await fetch(approved.redirect);
}
const token = await users.signIn(acme, { store: path.join(secret, 'token.json'), open: consent });
show('token', token);
// The test searches the output for these tokens, too.
const tokens = [token.token.reveal(), token.secret.reveal()];
await writeFile(path.join(secret, 'tokens.json'), JSON.stringify(tokens));

const hour = 3_600_000;
const now = service.clock.now();
const window = { fromDate: new Date(now - 3 * hour), toDate: new Date(now - 2 * hour) };
const query = { product: '30day', query: 'coffee' } as const;
const options = { progress: 'lines' } as const;
let round = 0;

const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  search: () =>
    pipeline(
      search(acme, { ...query, maxResults: 10, limit: 40 }),
      engagement(acme, { token }),
      take(30),
      stdout(),
      options,
    ),
  files: () =>
    pipeline(
      search(acme, { ...query, maxResults: 10, limit: 100 }),
      files({
        path: at(`posts-${round}.jsonl`),
        checkpoint: at(`posts-${round}.json`),
        commitIntervalMs: 0,
      }),
      options,
    ),
  counts: () => pipeline(counts(acme, { ...query, bucket: 'day' }), collect()),
  job: async () => {
    const request: jobs.JobRequest = {
      title: `canary ${round}`,
      dataFormat: 'original',
      rules: [{ value: 'coffee' }],
      fromDate: '202001010000',
      toDate: '202001010100',
    };
    return jobs.run(acme, { ...request, decide: () => true });
  },
  download: async () => {
    const { delivered: _, jobs: all } = await jobs.list(acme);
    const [first] = all;
    return first && jobs.download(acme, first, { folder: at(`job-${round}`) });
  },
  replay: () =>
    pipeline(
      replay(acme, {
        streamType: 'firehose',
        folder: at('spool'),
        maxMemory: 1,
        timings: { attempts: 2 },
        ...window,
      }),
      files({ path: at(`replay-${round}.jsonl`), checkpoint: at(`replay-${round}.json`) }),
      options,
    ),
  compliance: async () => {
    await using tombstones = await openTombstones(at(`tombstones-${round}`));
    return pipeline(
      compliance(acme, {
        fromDate: new Date(now - 2 * hour),
        folder: at('spool'),
        timings: { attempts: 2 },
        onGap: gap => show('gap', gap),
      }),
      take(2),
      intoTombstones(tombstones),
    );
  },
  rules: async () => [
    await replayRules.add(acme, [{ value: 'coffee', tag: `t${round}` }]),
    await pipeline(replayRules.list(acme), collect()),
  ],
  usage: () => usage.report(acme),
  totals: () => users.engagementTotals(acme, { ids: ['1'], token }),
  signIn: () => users.requestToken(acme, { callback: 'oob' }),
};

/**
 * Returns a message that contains the secrets of a call, unchanged and encoded, as a server might
 * echo them.
 */
function echo(call: string): string {
  const sent = [password, consumerSecret, ...(call === 'totals' ? tokens : [])];
  const pair = `${addresses.email}:${password}`;
  return [
    ...sent,
    ...sent.map(encodeURIComponent),
    pair,
    Buffer.from(pair).toString('base64'),
  ].join(' ');
}
/**
 * Faults that the nightly suite adds. They cause the same errors as `FAULTS`, but with other
 * messages.
 */
const MORE_FAULTS: readonly Fault[] = [
  { kind: 'status', status: 401, times: 'always' },
  { kind: 'status', status: 503, times: 'always' },
  { kind: 'cut', afterBytes: 40, end: 'finish', times: 'always' },
  { kind: 'flip', atByte: 30, times: 'always' },
];
const FAULTS: readonly (Fault | undefined)[] = [
  { kind: 'status', status: 400, times: 'always' },
  { kind: 'status', status: 401, skip: 4, times: 'always' },
  { kind: 'cut', afterBytes: 40, times: 'always' },
  ...(isNightly ? MORE_FAULTS : []),
  undefined,
];
for (const fault of FAULTS) {
  round++;
  for (const [name, call] of Object.entries(CALLS)) {
    // Plants the fault for each call, so that `skip` counts only the requests of this call. A
    // compliance stream continues after the fault, so it is stopped early.
    if (fault !== undefined)
      service.faults.plant(fault.kind === 'status' ? { ...fault, message: echo(name) } : fault);
    const stopped = AbortSignal.timeout(name === 'compliance' ? bySuite(700, 2_000) : 30_000);
    const late = new Promise((_, reject) => {
      stopped.addEventListener('abort', () => reject(stopped.reason), { once: true });
    });
    late.catch(() => {});
    try {
      show(`${name} ${fault?.kind ?? 'alone'}`, await Promise.race([call(), late]));
    } catch (error) {
      show(`${name} ${fault?.kind ?? 'alone'} failed`, error);
    }
    service.faults.clear();
  }
}
await acme.close();
await service.stop();
console.log('done');
process.exit();
