import { floorTo, formatTimestamp, HOUR } from '../../time.js';
import { shellWord } from '../environment.js';
import type { Addresses } from '../http/addresses.js';
import type { SECTIONS } from './console-page.js';

/** An endpoint, with commands for curl and the library. */
export interface ListedEndpoint {
  readonly name: string;
  readonly method: string;
  readonly address: string;
  /** Absent for signed requests, which curl cannot make. */
  readonly curl?: string | undefined;
  /** A shell command that runs a short script. */
  readonly millrace: string;
}

export interface EndpointGroup {
  /** The page that has their commands. */
  readonly section: keyof typeof SECTIONS;
  readonly endpoints: readonly ListedEndpoint[];
}

/** Every endpoint of the account, with examples for the current time of the service. */
export function endpointGroups(addresses: Addresses, now: number): readonly EndpointGroup[] {
  return [searches(addresses), jobs(addresses, now), ...streams(addresses, now), people(addresses)];
}

function searches({ baseUrl, account, label }: Addresses): EndpointGroup {
  const of = (product: string, what: string) => {
    const base = `${baseUrl}/search/${product}/accounts/${pathOf(account, label)}`;
    const method = 'GET or POST';
    return [
      endpoint(
        { name: `Posts, ${what}`, method, address: `${base}.json` },
        { query: 'query=coffee%20lang%3Aen&maxResults=10' },
        script(
          ['account', 'pipeline', 'search', 'stdout', 'take'],
          `await pipeline(search(account(), { product: "${product}", query: "coffee lang:en" }), take(10), stdout());`,
        ),
      ),
      endpoint(
        { name: `Counts, ${what}`, method, address: `${base}/counts.json` },
        { query: 'query=coffee%20lang%3Aen&bucket=day' },
        script(
          ['account', 'chart', 'counts', 'pipeline'],
          `await pipeline(counts(account(), { product: "${product}", query: "coffee lang:en", bucket: "day"${product === 'fullarchive' ? ', fromDate: "202401010000", toDate: "202401310000"' : ''} }), chart());`,
        ),
      ),
    ];
  };
  return {
    section: 'overview',
    endpoints: [...of('30day', 'the last 30 days'), ...of('fullarchive', 'since March 2006')],
  };
}

function jobs({ historicalUrl, account, publisher }: Addresses, now: number): EndpointGroup {
  const address = `${historicalUrl}/historical/rulestream/accounts/${pathOf(account, 'publishers', publisher, 'jobs.json')}`;
  const to = floorTo(HOUR, now) - 24 * HOUR;
  const window = { fromDate: formatTimestamp(to - HOUR), toDate: formatTimestamp(to) };
  const title = `coffee, ${window.fromDate}`;
  const rules = [{ value: 'coffee', tag: 'coffee' }];
  const body = { publisher, dataFormat: 'original', ...window, title, rules };
  return {
    section: 'jobs',
    endpoints: [
      endpoint(
        { name: 'Make a job', method: 'POST', address },
        { body },
        script(
          ['account', 'jobs'],
          `const job = await jobs.create(account(), ${JSON.stringify({ title, dataFormat: 'original', ...window, rules })});`,
          'console.log(job.status, job.statusMessage);',
        ),
      ),
      endpoint(
        { name: 'All jobs', method: 'GET', address },
        {},
        script(
          ['account', 'jobs'],
          'const list = await jobs.list(account());',
          'for (const { title, status } of list.jobs) console.log(status, title);',
        ),
      ),
    ],
  };
}

const STREAM_TYPES = {
  firehose: 'all posts',
  sample10: 'a tenth of all posts',
  mentions: 'posts that mention someone',
  rulestream: 'what matches the rules',
  compliance: 'compliance events',
};

function streams(addresses: Addresses, now: number): readonly EndpointGroup[] {
  const { replayStreamUrl, rulesUrl, complianceStreamUrl } = addresses;
  const { account, publisher, streamLabel, complianceLabel } = addresses;
  const to = floorTo(HOUR, now) - 2 * HOUR;
  const window = { fromDate: formatTimestamp(to - HOUR / 6), toDate: formatTimestamp(to) };
  const replays = Object.entries(STREAM_TYPES).map(([streamType, what]): ListedEndpoint => {
    const address = `${replayStreamUrl}/replay/${streamType}/accounts/${pathOf(account, 'publishers', publisher, streamLabel)}.json`;
    const options = JSON.stringify({ streamType, ...window });
    return endpoint(
      { name: `Replay of ${what}`, method: 'GET', address },
      { query: String(new URLSearchParams(window)), isStream: true },
      streamType === 'compliance'
        ? script(
            ['account', 'replay'],
            `for await (const event of replay(account(), ${options})) console.log(event);`,
          )
        : script(
            ['account', 'pipeline', 'replay', 'stdout'],
            `await pipeline(replay(account(), ${options}), stdout());`,
          ),
    );
  });
  const rules = `${rulesUrl}/rules/rulestream-replay/accounts/${pathOf(account, 'publishers', publisher, streamLabel)}.json`;
  const rule = [{ value: 'coffee lang:en', tag: 'coffee' }];
  const compliance = `${complianceStreamUrl}/accounts/${pathOf(account, 'publishers', publisher, 'streams', 'compliance', complianceLabel)}.json`;
  return [
    {
      section: 'replays',
      endpoints: replays,
    },
    {
      section: 'replays',
      endpoints: [
        endpoint(
          { name: 'Add rules', method: 'POST', address: rules },
          { body: { rules: rule } },
          script(
            ['account', 'replayRules'],
            `console.log(await replayRules.add(account(), ${JSON.stringify(rule)}));`,
          ),
        ),
        endpoint(
          { name: 'All rules', method: 'GET', address: rules },
          {},
          script(
            ['account', 'replayRules'],
            'for await (const { id, tag, value } of replayRules.list(account())) console.log(id, tag, value);',
          ),
        ),
      ],
    },
    {
      section: 'compliance',
      endpoints: [
        endpoint(
          { name: 'Compliance events', method: 'GET', address: compliance },
          { isStream: true },
          script(
            ['account', 'compliance'],
            'for await (const event of compliance(account())) console.log(event);',
          ),
        ),
      ],
    },
  ];
}

function people({ accountApiUrl, oauthUrl, dataUrl, account }: Addresses): EndpointGroup {
  const usage = `${accountApiUrl}/accounts/${pathOf(account)}/usage.json`;
  const signIn = 'const token = await users.signIn(acme, { store: "tokens.json" });';
  return {
    section: 'usage',
    endpoints: [
      endpoint(
        { name: 'Usage report', method: 'GET', address: usage },
        { query: 'bucket=day' },
        script(
          ['account', 'usage'],
          'console.log(usage.chart(await usage.report(account(), { bucket: "day" })));',
        ),
      ),
      {
        name: 'Sign-in of a user',
        method: 'POST, then GET',
        address: `${oauthUrl}/oauth/request_token`,
        millrace: script(
          ['account', 'users'],
          'const acme = account();',
          signIn,
          'console.log(token.screenName);',
        ),
      },
      {
        name: 'Engagement totals',
        method: 'POST',
        address: `${dataUrl}/insights/engagement/totals`,
        millrace: script(
          ['account', 'collect', 'pipeline', 'search', 'take', 'users'],
          'const acme = account();',
          signIn,
          'const own = search(acme, { product: "30day", query: "from:" + token.screenName });',
          'const ids = (await pipeline(own, take(10), collect())).map(post => post.id);',
          'console.log((await users.engagementTotals(acme, { token, ids })).totals);',
        ),
      },
    ],
  };
}

interface CurlRequest {
  readonly query?: string;
  /** Sent as JSON. */
  readonly body?: object;
  /** Compressed, and shown as it arrives. */
  readonly isStream?: boolean;
}

/** An endpoint that curl can request. */
function endpoint(
  listed: Pick<ListedEndpoint, 'name' | 'method' | 'address'>,
  { query, body, isStream }: CurlRequest,
  millrace: string,
): ListedEndpoint {
  const url = query === undefined ? listed.address : `${listed.address}?${query}`;
  const words = [
    'curl',
    ...(isStream ? ['--compressed', '-N'] : []),
    LOGIN,
    ...(body === undefined ? [] : ['-d', shellWord(JSON.stringify(body))]),
    shellWord(url),
  ];
  return { ...listed, curl: words.join(' '), millrace };
}

function pathOf(...segments: readonly string[]): string {
  return segments.map(encodeURIComponent).join('/');
}

/** The login for curl, from the variables of the overview. */
const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/** A command that runs a short script with imports from the library. */
function script(names: readonly string[], ...lines: readonly string[]): string {
  const script = [`import { ${names.join(', ')} } from "millrace";`, ...lines].join('\n');
  return `node --input-type=module -e ${shellWord(script)}`;
}
