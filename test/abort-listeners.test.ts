import { getEventListeners } from 'node:events';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compliance } from '../src/compliance/compliance.js';
import { Flow } from '../src/flow/flow.js';
import { pipeline } from '../src/flow/pipeline.js';
import { type Account, account } from '../src/http/account.js';
import { RateLimiter } from '../src/http/rate-limits.js';
import { mapAsync } from '../src/operators/map-async.js';
import { addReplayRules, listReplayRules } from '../src/replay/rule-calls.js';
import { search } from '../src/search/search.js';
import { collect } from '../src/sinks/collect.js';
import { files } from '../src/sinks/files.js';
import { stdout } from '../src/sinks/stdout.js';
import { usage } from '../src/usage/usage-report.js';
import { usageRows } from '../src/usage/usage-table.js';
import { stream } from './http/live-wire.js';
import { RulesStream } from './http/rules-stream.js';
import { json, ScriptedServer, status } from './http/scripted-server.js';
import { impatient } from './http/virtual-time.js';
import { LOGIN } from './login.js';
import { januaryPosts, searchPages } from './search/paged-service.js';
import { temporaryFolder } from './temporary-folder.js';

let signal: AbortSignal;
let server: ScriptedServer;
let acme: Account;
let folder: string;

beforeEach(async () => {
  ({ signal } = new AbortController());
  server = await new ScriptedServer().start();
  const { url } = server;
  acme = account(
    {
      baseUrl: url,
      rulesUrl: url,
      complianceStreamUrl: url,
      complianceLabel: 'c',
      accountApiUrl: url,
      timing: impatient(),
      account: 'acme',
      label: 'prod',
      publisher: 'p',
      streamLabel: 's',
      ...LOGIN,
    },
    {},
  );
  folder = await temporaryFolder();
});
afterEach(() => server.stop());

const numbers = () =>
  new Flow(async function* () {
    for (let n = 0; n < 5; n++) yield { items: [n] };
  });
const SNOW = { query: 'snow', product: 'fullarchive', maxResults: 10 } as const;
const REPORT = {
  account: { name: 'acme', status: 'active' },
  bucket: 'month',
  publishers: [],
  fromDate: '202401010000',
  toDate: '202402010000',
};
const discard = () => new Writable({ write: (_chunk, _encoding, done) => done() });

const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a request': () => addReplayRules(acme, [{ value: 'snow' }], { signal }),
  'a request that is retried': () => {
    server.script.push(status(503), status(503));
    return addReplayRules(acme, [{ value: 'snow' }], { signal });
  },
  'a request that the service rejects': () => {
    server.script.push(status(400));
    return addReplayRules(acme, [{ value: 'snow' }], { signal }).catch(() => {});
  },
  'a request with an invalid response': () => {
    server.script.push(json('usage'));
    return usage(acme, { signal }).catch(() => {});
  },
  'a wait for the rate limit': async () => {
    const pace = new RateLimiter([{ requests: 1, perMs: 5 }]);
    const call = async () => (await pace.acquire(undefined, signal)).responded();
    await Promise.all([1, 2, 3].map(call));
  },
  'a list of rules': () => collect()(listReplayRules(acme, { signal })),
  'a list of rules whose reader stops early': async () => {
    for await (const _rule of listReplayRules(acme, { signal })) break;
  },
  'the rows of a usage report': async () => {
    server.script.push(json(REPORT));
    await collect()(usageRows(acme, { signal }));
  },
  'a search in slices': () => {
    server.otherwise = searchPages(januaryPosts(50));
    const dates = { fromDate: '202401010000', toDate: '202401310000' };
    return pipeline(search(acme, { ...SNOW, ...dates, slices: 3 }), collect(), { signal });
  },
  'a search whose reader stops early': async () => {
    server.otherwise = searchPages(januaryPosts(50));
    for await (const _batch of search(acme, SNOW).batches({ signal })) break;
  },
  'a compliance stream whose reader stops early': async () => {
    const event = '{"delete":{"status":{"id":1,"id_str":"1"},"timestamp_ms":"1700000000000"}}';
    server.otherwise = stream([event]);
    const options = { backfill: false, onGap: () => {} };
    for await (const _batch of compliance(acme, options).batches({ signal })) break;
  },
  'a search that fails': () => {
    server.otherwise = status(401);
    return pipeline(search(acme, SNOW), collect(), { signal }).catch(() => {});
  },
  'a pipeline with mapAsync()': () =>
    pipeline(
      numbers(),
      mapAsync(async n => n, { concurrency: 2 }),
      collect(),
      { signal },
    ),
  'files() called without a pipeline': () =>
    files({ path: path.join(folder, '1.txt') })(numbers(), { signal }),
  'files() with a checkpoint': () => {
    const checkpoint = path.join(folder, 'checkpoint');
    return files({ path: path.join(folder, '2.txt'), checkpoint })(numbers(), { signal });
  },
  'stdout() called without a pipeline': () => stdout({ stream: discard() })(numbers(), { signal }),
  'a pipeline into stdout()': () => pipeline(numbers(), stdout({ stream: discard() }), { signal }),
};

describe('an abort signal that many calls share', () => {
  it.each(Object.keys(CALLS))('has no listener left after %s', async name => {
    const rules = new RulesStream(server);
    for (let n = 0; n < 5; n++) rules.hold(`rule ${n}`);
    for (let times = 0; times < 3; times++) {
      await CALLS[name]!();
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });
});
