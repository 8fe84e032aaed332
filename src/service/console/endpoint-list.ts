import { datesOf, floorTo, HOUR } from '../../base/time.js';
import { shellWord } from '../account-variables.js';
import type { Addresses } from '../http/addresses.js';
import type { FirstSearch } from '../service-archives.js';
import { SECTIONS, type Visit } from './console-page.js';
import { type Html, html } from './html/html.js';
import { breakable, command } from './html/page-parts.js';

export interface ListedEndpoint {
  /** The page of the console that shows the commands of the endpoint. */
  readonly section: keyof typeof SECTIONS;
  readonly name: string;
  readonly method: string;
  readonly address: string;
  /** The command for curl. Absent for signed requests, which curl cannot make. */
  readonly curl?: string | undefined;
  readonly millrace: string;
  readonly typescript: string;
}

interface Example extends Pick<ListedEndpoint, 'section' | 'name' | 'address'> {
  /** The HTTP method; GET by default. */
  readonly method?: string;
  readonly query?: string;
  readonly body?: object;
  readonly isStream?: boolean;
  /** Whether the request must be signed. curl cannot make such a request. */
  readonly isSigned?: boolean;
  /** The script, without its imports. */
  readonly script: string;
}

export function listedEndpoints(addresses: Addresses, now: number): readonly ListedEndpoint[] {
  return [
    ...searches(addresses, '30day', 'the last 30 days'),
    ...searches(addresses, 'fullarchive', 'since March 2006'),
    ...jobs(addresses, now),
    ...replays(addresses, now),
    ...others(addresses),
  ].map(endpoint);
}

function searches(
  { baseUrl, account, label }: Addresses,
  product: string,
  what: string,
): Example[] {
  const base = `${baseUrl}/search/${product}/accounts/${pathOf(account, label)}`;
  const dates =
    product === 'fullarchive' ? ', fromDate: "202401010000", toDate: "202401310000"' : '';
  return [
    {
      section: 'overview',
      name: `Posts, ${what}`,
      method: 'GET or POST',
      address: `${base}.json`,
      query: 'query=coffee%20lang%3Aen&maxResults=10',
      script: `await pipeline(search(account(), { product: "${product}", query: "coffee lang:en", limit: 10 }), stdout());`,
    },
    {
      section: 'overview',
      name: `Counts, ${what}`,
      method: 'GET or POST',
      address: `${base}/counts.json`,
      query: 'query=coffee%20lang%3Aen&bucket=day',
      script: `await pipeline(counts(account(), { product: "${product}", query: "coffee lang:en", bucket: "day"${dates} }), chart());`,
    },
  ];
}

function jobs({ historicalUrl, account, publisher }: Addresses, now: number): Example[] {
  const address = `${historicalUrl}/historical/rulestream/accounts/${pathOf(account, 'publishers', publisher, 'jobs.json')}`;
  const to = floorTo(HOUR, now) - 24 * HOUR;
  const window = datesOf({ from: to - HOUR, to });
  const title = `coffee, ${window.fromDate}`;
  const rules = [{ value: 'coffee', tag: 'coffee' }];
  const job = JSON.stringify({ title, dataFormat: 'original', ...window, rules });
  return [
    {
      section: 'jobs',
      name: 'Make a job',
      method: 'POST',
      address,
      body: { publisher, dataFormat: 'original', ...window, title, rules },
      script: `const job = await jobs.create(account(), ${job});
console.log(job.status, job.statusMessage);`,
    },
    {
      section: 'jobs',
      name: 'All jobs',
      address,
      script: `const list = await jobs.list(account());
for (const { title, status } of list.jobs) console.log(status, title);`,
    },
  ];
}

const STREAM_TYPES = {
  firehose: 'all posts',
  sample10: 'a tenth of all posts',
  mentions: 'posts that mention someone',
  rulestream: 'what matches the rules',
  compliance: 'compliance events',
};

function replays(addresses: Addresses, now: number): Example[] {
  const { account, publisher, streamLabel, replayStreamUrl, rulesUrl } = addresses;
  const to = floorTo(HOUR, now) - 2 * HOUR;
  const window = datesOf({ from: to - HOUR / 6, to });
  const path = `accounts/${pathOf(account, 'publishers', publisher, streamLabel)}.json`;
  const rules = `${rulesUrl}/rules/rulestream-replay/${path}`;
  const rule = [{ value: 'coffee lang:en', tag: 'coffee' }];
  return [
    ...Object.entries(STREAM_TYPES).map(([streamType, what]): Example => {
      const source = `replay(account(), ${JSON.stringify({ streamType, ...window })})`;
      const script =
        streamType === 'compliance'
          ? `for await (const event of ${source}) console.log(event);`
          : `await pipeline(${source}, stdout());`;
      return {
        section: 'streams',
        name: `Replay of ${what}`,
        address: `${replayStreamUrl}/replay/${streamType}/${path}`,
        query: String(new URLSearchParams({ ...window })),
        isStream: true,
        script,
      };
    }),
    {
      section: 'streams',
      name: 'Add rules',
      method: 'POST',
      address: rules,
      body: { rules: rule },
      script: `console.log(await replayRules.add(account(), ${JSON.stringify(rule)}));`,
    },
    {
      section: 'streams',
      name: 'All rules',
      address: rules,
      script:
        'for await (const { id, tag, value } of replayRules.list(account())) console.log(id, tag, value);',
    },
  ];
}

const SIGN_IN = `const acme = account();
const token = await users.signIn(acme, { store: "tokens.json" });
`;

function others(addresses: Addresses): Example[] {
  const { accountApiUrl, oauthUrl, dataUrl, account, publisher, complianceLabel } = addresses;
  return [
    {
      section: 'compliance',
      name: 'Compliance events',
      address: `${addresses.complianceStreamUrl}/accounts/${pathOf(account, 'publishers', publisher, 'streams', 'compliance', complianceLabel)}.json`,
      isStream: true,
      script: 'for await (const event of compliance(account())) console.log(event);',
    },
    {
      section: 'usage',
      name: 'Usage report',
      address: `${accountApiUrl}/accounts/${pathOf(account)}/usage.json`,
      query: 'bucket=day',
      script: 'console.log(usage.chart(await usage.report(account(), { bucket: "day" })));',
    },
    {
      section: 'usage',
      name: 'Sign-in of a user',
      method: 'POST, then GET',
      address: `${oauthUrl}/oauth/request_token`,
      isSigned: true,
      script: `${SIGN_IN}console.log(token.screenName);`,
    },
    {
      section: 'usage',
      name: 'Engagement totals',
      method: 'POST',
      address: `${dataUrl}/insights/engagement/totals`,
      isSigned: true,
      script: `${SIGN_IN}const own = search(acme, { product: "30day", query: "from:" + token.screenName, limit: 10 });
const ids = (await pipeline(own, collect())).map(post => post.id);
console.log((await users.engagementTotals(acme, { token, ids })).totals);`,
    },
  ];
}

function endpoint({ query, body, isStream, isSigned, script, ...rest }: Example): ListedEndpoint {
  const asked = query === undefined ? rest.address : `${rest.address}?${query}`;
  const curl = isSigned
    ? undefined
    : curlOf(asked, { body: body && JSON.stringify(body), isStream });
  return {
    method: 'GET',
    ...rest,
    curl,
    millrace: nodeCommand(script),
    typescript: typescriptOf(script),
  };
}

interface CurlOptions {
  /** The HTTP method; by default, POST if there is a body, otherwise GET. */
  readonly method?: string | undefined;
  readonly body?: string | undefined;
  /** Whether the response is a compressed stream. If so, curl decompresses it and prints it as it arrives. */
  readonly isStream?: boolean | undefined;
  readonly needsLogin?: boolean | undefined;
}

export function curlOf(
  address: string,
  { method, body, isStream = false, needsLogin = true }: CurlOptions,
): string {
  const usual = body === undefined ? 'GET' : 'POST';
  const words = [
    'curl',
    isStream && '--compressed -N',
    needsLogin && LOGIN,
    method !== undefined && method !== usual && `-X ${method}`,
    body !== undefined && `-d ${shellWord(body)}`,
    shellWord(address),
  ];
  return words.filter(Boolean).join(' ');
}

/** Returns a curl command for a search. It contains the login, so no environment variables are needed. */
export function firstCommand(
  { baseUrl, account, label, email, password }: Addresses,
  { product, parameters }: FirstSearch,
): string {
  const path = pathOf(product, 'accounts', account, label);
  const url = `${baseUrl}/search/${path}.json?${new URLSearchParams(parameters)}`;
  return `curl -u ${shellWord(`${email}:${password}`)} ${shellWord(url)}`;
}

export function pathOf(...segments: readonly string[]): string {
  return segments.map(encodeURIComponent).join('/');
}

/** The credentials for curl, in environment variables that the overview page shows how to set. */
const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/**
 * Matches the names that a script must import from the library: functions that it calls, and objects whose
 * methods it calls.
 */
const IMPORTED =
  /(?<![\w.])(?:account|chart|collect|compliance|counts|jobs|pipeline|replay|replayRules|search|stdout|take|usage|users)(?=[(.])/g;

export function typescriptOf(script: string): string {
  const names = [...new Set(script.match(IMPORTED))].sort().join(', ');
  return `import { ${names} } from "millrace";\n${script}`;
}

export function nodeCommand(script: string): string {
  return `node --input-type=module -e ${shellWord(typescriptOf(script))}`;
}

export function commandList({ addresses, context }: Visit, page: keyof typeof SECTIONS): Html {
  const endpoints = listedEndpoints(addresses, context.clock.now());
  const others = endpoints.filter(({ section }) => section !== page);
  return html`<details class="card commands" id="commands"><summary><h2>Addresses and commands</h2></summary>
<p class="quiet">For a shell that has the <a href="/console#start">variables of the overview</a>; Millrace in any folder where it is installed.</p>
${endpoints.filter(({ section }) => section === page).map(commandsOf)}
${page === 'overview' && html`<section class="stack"><h3>Other addresses</h3><ul class="stack">${others.map(linkOf)}</ul></section>`}</details>`;
}

export function emptyPage(
  { addresses, context }: Visit,
  page: keyof typeof SECTIONS,
  text: string,
): Html {
  const endpoints = listedEndpoints(addresses, context.clock.now());
  const first = endpoints.find(({ section }) => section === page);
  return html`<section class="card" aria-label="Nothing yet"><p>${text} In a shell that has the <a href="/console#start">variables of the overview</a>, this makes one:</p>
${command('curl', first?.curl ?? '')}</section>`;
}

function commandsOf({ name, method, address, curl, millrace, typescript }: ListedEndpoint): Html {
  return html`<section class="stack"><h3>${name}</h3>
${addressOf(method, address)}
${
  curl === undefined
    ? html`<p class="hint">Requests of applications are signed (OAuth 1.0a), which curl cannot do.</p>`
    : command('curl', curl)
}${command('Millrace', millrace, typescript)}</section>`;
}

function linkOf({ section, name, method, address }: ListedEndpoint): Html {
  return html`<li><a href="${SECTIONS[section][1]}#commands">${name}</a>${addressOf(method, address)}</li>`;
}

function addressOf(method: string, address: string): Html {
  return html`<p><span class="method">${method}</span> <code class="address">${breakable(address)}</code></p>`;
}
