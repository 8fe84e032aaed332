import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as millrace from '../src/index.js';
import * as jetstream from '../src/jetstream/index.js';
import { LOGIN } from './login.js';
import { temporaryFolder } from './temporary-folder.js';
import { unchecked } from './unchecked.js';

// Nothing listens at this address, so a call that sends a request does not fail with an
// `OptionError`.
const url = 'http://127.0.0.1:1';
const acme = millrace.account(
  {
    baseUrl: url,
    historicalUrl: url,
    replayStreamUrl: url,
    rulesUrl: url,
    dataUrl: url,
    complianceStreamUrl: url,
    accountApiUrl: url,
    oauthUrl: url,
    retry: { attempts: 1 },
    account: 'acme',
    label: 'prod',
    streamLabel: 'prod',
    complianceLabel: 'prod',
    publisher: 'posts',
    ...LOGIN,
    consumerKey: 'key',
    consumerSecret: 's',
    accessToken: 'token',
    accessTokenSecret: 's',
  },
  {},
);
const post = new millrace.Activity(Buffer.from('{"id":1}'));
const { tree } = millrace.rules.parse('snow');
const window = { fromDate: '2024-01-01', toDate: '2024-01-02' };
const job = { title: 't', dataFormat: 'original', rules: [{ value: 'snow' }], ...window } as const;
const query = { query: 'snow', product: 'fullarchive' };
const uuid = '3fa85f64-5717-4562-b3fc-2c963f66afa6';
const token = { token: 'x', secret: new millrace.Secret('y') };
let folder: string;
let tombstones: millrace.Tombstones;

beforeAll(async () => {
  folder = await temporaryFolder();
  tombstones = await millrace.openTombstones(folder);
});
afterAll(() => tombstones.close());

type Row = readonly [
  name: string,
  call: (options: never) => unknown,
  wrong: string,
  meant: string,
  needs?: object,
];

const CALLS: readonly Row[] = [
  ['account', o => millrace.account(o, {}), 'baseurl', 'baseUrl'],
  ['users.accessToken', o => millrace.users.accessToken(acme, o), 'verifer', 'verifier', { token }],
  ['jobs.accept', o => millrace.jobs.accept(acme, uuid, o), 'singal', 'signal'],
  ['activities', o => millrace.activities(o), 'onMesage', 'onMessage'],
  ['replayRules.add', o => millrace.replayRules.add(acme, [], o), 'streamlabel', 'streamLabel'],
  ['applyCompliance', o => millrace.applyCompliance('none', tombstones, o), 'contry', 'country'],
  ['chart', o => millrace.chart(o), 'heigth', 'height'],
  ['rules.check', o => millrace.rules.check('snow', o), 'tags', 'tag', { product: 'search' }],
  ['rules.compile', o => millrace.rules.compile(unchecked(tree), o), 'prodcut', 'product'],
  ['rules.compileAll', o => millrace.rules.compileAll([], o), 'prodcut', 'product'],
  ['compliance', o => millrace.compliance(acme, o), 'partition', 'partitions'],
  ['counts', o => millrace.counts(acme, o), 'bukcet', 'bucket', query],
  ['jobs.create', o => millrace.jobs.create(acme, job, o), 'singal', 'signal'],
  ['parquet', o => millrace.parquet(o), 'compresion', 'compression', { path: 'x.parquet' }],
  [
    'committed',
    o => millrace.committed(o),
    'waitms',
    'waitMs',
    { load() {}, write() {}, save() {} },
  ],
  ['csv', o => millrace.csv(o), 'colums', 'columns', { path: 'x.csv' }],
  ['dedupe', o => millrace.dedupe(o), 'windows', 'window'],
  ['replayRules.delete', o => millrace.replayRules.delete(acme, [], o), 'signals', 'signal'],
  [
    'jobs.download',
    o => millrace.jobs.download(acme, uuid, o),
    'foldr',
    'folder',
    { folder: 'none' },
  ],
  ['engagement', o => millrace.engagement(acme, o), 'waitMS', 'waitMs'],
  [
    'users.engagementTotals',
    o => millrace.users.engagementTotals(acme, o),
    'type',
    'types',
    { ids: [] },
  ],
  ['rules.explain', o => millrace.rules.explain('snow', post, o), 'prodcut', 'product'],
  ['tee', o => millrace.tee(millrace.files({ path: 'x' }), o), 'chekpoint', 'checkpoint'],
  ['files', o => millrace.files(o), 'chekpoint', 'checkpoint', { path: 'x.jsonl' }],
  ['filter', o => millrace.filter(() => true, o), 'nmae', 'name'],
  ['jobs.find', o => millrace.jobs.find(acme, 't', o), 'singal', 'signal'],
  ['jobs.get', o => millrace.jobs.get(acme, uuid, o), 'singal', 'signal'],
  ['replayRules.get', o => millrace.replayRules.get(acme, [], o), 'singal', 'signal'],
  [
    'fromJetStream',
    o => jetstream.fromJetStream(o as jetstream.FromJetStreamOptions<number>),
    'strem',
    'stream',
    { connection: () => {}, stream: 'posts', subject: 'posts' },
  ],
  [
    'toJetStream',
    o => jetstream.toJetStream(o),
    'maxInFligt',
    'maxInFlight',
    { connection: () => {}, stream: 'posts', subject: 'posts' },
  ],
  ['gunzip', o => millrace.gunzip(o), 'maxbytes', 'maxBytes'],
  ['intoTombstones', o => millrace.intoTombstones(tombstones, o), 'sources', 'source'],
  ['jobFiles', o => millrace.jobFiles(acme, uuid, o), 'onVerdct', 'onVerdict'],
  ['jobs.results', o => millrace.jobs.results(acme, uuid, o), 'singal', 'signal'],
  ['jobs.resultsCsv', o => millrace.jobs.resultsCsv(acme, uuid, o), 'singal', 'signal'],
  ['jsonElements', o => millrace.jsonElements('results', o), 'maxDept', 'maxDepth'],
  ['jsonLines', o => millrace.jsonLines(o), 'seperator', 'separator'],
  ['jsonArray', o => millrace.jsonArray('rules', o), 'maxDept', 'maxDepth'],
  ['jobs.list', o => millrace.jobs.list(acme, o), 'singal', 'signal'],
  ['localFiles', o => millrace.localFiles('none', o), 'mach', 'match'],
  ['mapAsync', o => millrace.mapAsync(async () => 1, o), 'concurency', 'concurrency'],
  ['matchRules', o => millrace.matchRules([], o), 'dropUnmached', 'dropUnmatched'],
  ['openTombstones', o => millrace.openTombstones('none', o), 'readonly', 'readOnly'],
  [
    'pipeline',
    o => millrace.pipeline(millrace.localFiles('none'), millrace.collect(), o),
    'progres',
    'progress',
  ],
  ['jobs.reject', o => millrace.jobs.reject(acme, uuid, o), 'singal', 'signal'],
  [
    'replay',
    o => millrace.replay(acme, o),
    'onGaps',
    'onGap',
    { streamType: 'rulestream', ...window },
  ],
  ['replayRules.list', o => millrace.replayRules.list(acme, o), 'singal', 'signal'],
  ['users.requestToken', o => millrace.users.requestToken(acme, o), 'callbck', 'callback'],
  ['routeByTag', o => millrace.routeByTag(o), 'untaged', 'untagged'],
  ['withReferenced', o => millrace.withReferenced(o), 'onyl', 'only'],
  ['rules.RuleMatcher', o => new millrace.rules.RuleMatcher(o), 'frequncy', 'frequency'],
  [
    'jobs.run',
    o => millrace.jobs.run(acme, o),
    'polIntervalMs',
    'pollIntervalMs',
    { ...job, decide: () => true },
  ],
  ['preview', o => millrace.preview(acme, query as millrace.SearchOptions, o), 'singal', 'signal'],
  ['rules.pack', o => millrace.rules.pack([], o), 'charcters', 'characters'],
  ['search', o => millrace.search(acme, o), 'maxResult', 'maxResults', query],
  ['users.signIn', o => millrace.users.signIn(acme, o), 'stor', 'store'],
  [
    'users.signInAddress',
    o => millrace.users.signInAddress(acme, { token: 'x' }, o),
    'alway',
    'always',
  ],
  ['stdout', o => millrace.stdout(o), 'strem', 'stream'],
  ['replayRules.sync', o => millrace.replayRules.sync(acme, [], o), 'dryrun', 'dryRun'],
  ['usage.report', o => millrace.usage.report(acme, o), 'bukcet', 'bucket'],
  [
    'usage.chart',
    o => millrace.usage.chart(unchecked({ account: {}, publishers: [] }), o),
    'widht',
    'width',
  ],
  ['usage.rows', o => millrace.usage.rows(acme, o), 'bukcet', 'bucket'],
  ['replayRules.validate', o => millrace.replayRules.validate(acme, [], o), 'singal', 'signal'],
  [
    'withoutDeleted',
    o => millrace.withoutDeleted(tombstones, o),
    'earlierVersion',
    'earlierVersions',
  ],
];

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the public function', () => {
  it.each(CALLS)('%s suggests the nearest option name for an unknown option', async (...row) => {
    const [, call, wrong, meant, needs = {}] = unchecked<Row>(row);
    const error = await errorOf(() => call(unchecked({ ...needs, [wrong]: 1 })));
    expect(error).toBeInstanceOf(millrace.OptionError);
    expect(error).toMatchObject({
      option: wrong,
      message: expect.stringContaining(`unknown option \`${wrong}\`; did you mean \`${meant}\`?`),
    });
  });

  it.each(CALLS.filter(([name]) => name !== 'pipeline'))(
    '%s throws an OptionError if its options are not an object',
    async (...row) => {
      const [, call] = unchecked<Row>(row);
      for (const options of ['x', null, [], 7])
        expect(await errorOf(() => call(unchecked(options)))).toBeInstanceOf(millrace.OptionError);
    },
  );
});
