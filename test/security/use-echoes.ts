// Makes every call of the library with secret credentials. The server answers each request with
// status 200 and a body that repeats the secrets of the request, for example as HTML or as JSON of
// the wrong shape. Prints each error in every way in which a program might print it.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  account,
  collect,
  compliance,
  counts,
  engagement,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  pipeline,
  replay,
  replayRules,
  search,
  usage,
  users,
} from 'millrace';
import { impatient } from '../http/virtual-time.js';
import { isNightly } from '../suite.js';
import { unchecked } from '../unchecked.js';
import { ACME, listedJob, pastHour } from './acme.js';
import { show } from './secrets.js';

const [folder = '', password = '', consumerSecret = '', signature = ''] = process.argv.slice(2);

const html = (text: string) => text.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`);
/**
 * Returns the parts of the request. Each part follows a few other characters, so that an excerpt of
 * 80 or 120 characters cuts one of the parts.
 */
function echoed(request: http.IncomingMessage): readonly string[] {
  const authorization = request.headers.authorization ?? '';
  const pair = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
  const query = new URL(request.url ?? '', 'http://x').searchParams;
  const sent = [password, consumerSecret, authorization, pair, ...query.values()];
  return [...sent, ...[72, 112].map(length => `${'x'.repeat(length)}${password}`)];
}

type Answer = (texts: readonly string[], pathname: string) => string;
const members = (value: unknown) => ({
  results: value,
  jobs: value,
  rules: value,
  detail: value,
  urlList: value,
  uuid: value,
  account: value,
  publishers: value,
  errors: value,
  unsupported: value,
  summary: value,
  title: value,
  status: value,
  statusMessage: value,
  url: value,
  totals: value,
});
const ANSWERS: Readonly<Record<string, Answer>> = {
  html: texts => `<html><p>${texts.join('</p><p>')}</p></html>`,
  'escaped html': texts => `<html><p>${texts.map(html).join('</p><p>')}</p></html>`,
  'a text': texts => JSON.stringify(texts.join(' ')),
  'wrong members': texts => JSON.stringify(members(texts.join(' '))),
  'wrong elements': texts => JSON.stringify(members(texts)),
  'wrong objects': texts => JSON.stringify(members(texts.map(text => ({ text, value: text })))),
  'broken JSON': texts => `{"results":[{"text":"${texts.join('", "')}"}], ${password}}`,
  'records without an id': texts =>
    texts.map(text => `{"results":[{"text":${JSON.stringify(text)}}]}`).join('\r\n'),
  'lines that are none': texts => texts.join('\r\n'),
  'a form': texts => `oauth_token_secret=${encodeURIComponent(texts.join(' '))}`,
};
/**
 * Only these responses are sent in every suite. The other responses cause the same errors and are
 * sent only nightly.
 */
const QUICK = [
  'escaped html',
  'wrong members',
  'wrong objects',
  'broken JSON',
  'records without an id',
];
let answer: Answer = () => '';
const server = http.createServer((request, response) => {
  request.resume();
  const { pathname } = new URL(request.url ?? '', 'http://x');
  const host = `http://${request.headers.host}`;
  if (pathname.endsWith('/listed/results.json')) {
    const file = `${host}/files/2024/01/01/00/00_activities.json.gz?X-Signature=${encodeURIComponent(signature)}`;
    response.end(JSON.stringify({ urlCount: 1, urlList: [file] }));
    return;
  }
  const body = gzipSync(answer(echoed(request), pathname));
  const isFile = pathname.startsWith('/files/');
  response.writeHead(200, isFile ? {} : { 'content-encoding': 'gzip' }).end(body);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;
const acme = account(
  {
    url,
    ...ACME,
    password,
    consumerSecret,
    accessToken: `${password}-token`,
    accessTokenSecret: `${password}-own`,
    timing: impatient(),
    retry: { attempts: 2 },
    limits: { replay: [], compliance: [], search: [], jobReads: [], usage: [], replayRules: [] },
    onRetry: retrying => show('retry', retrying.error),
  },
  {},
);
const job = listedJob(url);
const query = { product: 'fullarchive', query: 'rain' } as const;
const rules = [{ value: 'rain' }];
const request: jobs.JobRequest = {
  title: 'canary',
  dataFormat: 'original',
  rules,
  fromDate: '202001010000',
  toDate: '202001010100',
};
const onDamaged = (_: unknown, error: Error) => show('damaged', error);
const timings = { attempts: 1 };
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  search: () => pipeline(search(acme, query), collect()),
  'search with onDamaged': () => pipeline(search(acme, { ...query, onDamaged }), collect()),
  counts: () => pipeline(counts(acme, { ...query, bucket: 'day' }), collect()),
  'jobs.create': () => jobs.create(acme, request),
  'jobs.run': () => jobs.run(acme, { ...request, decide: () => true }),
  'jobs.list': () => jobs.list(acme),
  'jobs.get': () => jobs.get(acme, 'abcdef'),
  'jobs.accept': () => jobs.accept(acme, 'abcdef'),
  'jobs.results': () => jobs.results(acme, 'abcdef'),
  jobFiles: () => pipeline(jobFiles(acme, job), gunzip(), jsonLines(), collect()),
  'jobs.download': () => jobs.download(acme, job, { folder: path.join(folder, 'job') }),
  replay: () =>
    pipeline(replay(acme, { streamType: 'firehose', folder, timings, ...pastHour() }), collect()),
  compliance: () =>
    pipeline(compliance(acme, { folder, timings, backfill: false, onGap: () => {} }), collect()),
  'compliance with onDamaged': () =>
    pipeline(
      compliance(acme, {
        folder,
        timings,
        backfill: false,
        onGap: () => {},
        onDamaged: (_, error) => {
          show('damaged', error);
          throw error;
        },
      }),
      collect(),
    ),
  'replayRules.list': () => pipeline(replayRules.list(acme), collect()),
  'replayRules.add': () => replayRules.add(acme, rules),
  'replayRules.delete': () => replayRules.delete(acme, rules),
  'replayRules.validate': () => replayRules.validate(acme, rules),
  'usage.report': () => usage.report(acme),
  'usage.rows': () => pipeline(usage.rows(acme), collect()),
  'users.requestToken': () => users.requestToken(acme, { callback: 'oob' }),
  'users.engagementTotals': () => users.engagementTotals(acme, { ids: ['1'] }),
  engagement: () => pipeline(posts(), engagement(acme), collect()),
};
async function* posts() {
  yield unchecked({ id: '1' });
}

const failed: Record<string, number> = {};
for (const [kind, body] of Object.entries(ANSWERS)) {
  if (!isNightly && !QUICK.includes(kind)) continue;
  answer = body;
  await Promise.all(
    Object.entries(CALLS).map(async ([name, call]) => {
      failed[name] ??= 0;
      // A compliance stream reconnects without end, so it is aborted.
      const late = AbortSignal.timeout(name.startsWith('compliance') ? 500 : 60_000);
      try {
        await Promise.race([call(), once(late, 'abort')]);
      } catch (error) {
        failed[name]++;
        show(`${name}, ${kind}:`, error);
      }
    }),
  );
}
await acme.close();
server.closeAllConnections();
server.close();
console.log(`failed ${JSON.stringify(failed)}`);
process.exit();
