import { STATUS_CODES } from 'node:http';
import { DAY, HOUR, MINUTE, SECOND } from '../../base/time.js';
import type { Quota } from '../http/quotas.js';
import { parseJsonObject } from '../http/read-request.js';
import { isStream, type LoggedRequest, shownAddress } from '../http/request-log.js';
import { ENDPOINT_NAMES, type Endpoint } from '../http/router.js';
import type { Rate } from '../http/service-limits.js';
import type { ConsolePage } from './console-page.js';
import { curlOf } from './endpoint-list.js';
import { type Html, html } from './html/html.js';
import {
  breakable,
  choices,
  command,
  compactInstant,
  printDuration,
  printNumber,
  printSize,
  renderState,
} from './html/page-parts.js';
import {
  column,
  type HtmlColumn,
  listPage,
  newestFirstCaption,
  table,
  withParameters,
} from './html/table.js';
import { jsonView } from './post-view.js';

export const requestPages: readonly ConsolePage[] = [
  {
    pattern: '/console/requests',
    section: 'requests',
    isLive: true,
    show({ context, addresses, url }) {
      const asked = (name: string) => url.searchParams.get(name) ?? undefined;
      const family = ENDPOINT_NAMES.find(endpoint => endpoint === asked('family'));
      const status = asked('status');
      const { requests } = context.requests;
      const ofFamily = requests.filter(({ endpoint }) =>
        family === undefined ? endpoint !== 'pages' : endpoint === family,
      );
      const listed = ofFamily.filter(
        request => status === undefined || statusClassOf(request) === status,
      );
      const classes = new Set(ofFamily.map(statusClassOf));
      // A filter that finds nothing is still shown, so that it can be removed.
      if (status !== undefined && /^(\dxx|none)$/.test(status)) classes.add(status);
      const { suffix, list } = listPage(url, listed, {
        caption: newestFirstCaption(listed, 'request'),
        columns: LOG_COLUMNS,
        pageRows: 9,
        idOf: ({ number }) => `request-${number}`,
        detailsOf: request => detailsOf(request, addresses.baseUrl),
      });
      const filter = (
        label: string,
        name: string,
        current: string | undefined,
        all: readonly string[],
      ) =>
        choices(label, [undefined, ...all], current, value => [
          value ?? `any ${name}`,
          withParameters(url, { [name]: value, page: undefined }),
        ]);
      const limited = context.quotas.left().filter(isLimited);
      return {
        title: `Requests${suffix}`,
        lead: 'What your programs have asked for, and what they may still ask. Sign-ins to the console are listed under pages, its other pages nowhere.',
        body: html`<section class="card" id="requests" data-live aria-labelledby="log"><h2 id="log">Log</h2>
${filter('Family', 'family', family, familiesOf(requests))}
${filter('Status', 'status', status, [...classes].sort())}
${listed.length === 0 ? html`<p class="empty">No such requests yet. The <a href="/console#start">overview</a> has a first one.</p>` : list}</section>
<section class="card" id="quotas-left" data-live aria-labelledby="quotas"><h2 id="quotas">Quotas left</h2>
${
  limited.length === 0
    ? html`<p class="empty">This service runs without rate limits (<code>--limits relaxed</code>).</p>`
    : table('By the clock of the service', QUOTA_COLUMNS, limited)
}</section>`,
      };
    },
  },
];

const QUOTA_COLUMNS: readonly HtmlColumn<Quota>[] = [
  column.header('What', ({ label }) => label),
  column.beside(
    'Left',
    ({ left, rate }) =>
      html`<meter min="0" max="${rate.requests}" low="${rate.requests * 0.25}" optimum="${rate.requests}" value="${left}" aria-hidden="true"></meter> ${printNumber(left)} of ${rateOf(rate)}`,
  ),
];

const LOG_COLUMNS: readonly HtmlColumn<LoggedRequest>[] = [
  column.header(
    'Request',
    request =>
      html`<span class="method">${request.method}</span> <code>${breakable(shownAddress(request.address))}</code>${queryOf(request) && html`<small><bdi>${queryOf(request)}</bdi></small>`}`,
  ),
  column.text('Answer', answerOf, ''),
  column.number('Posts', ({ posts }) => posts !== undefined && printNumber(posts)),
  column.number('Size', ({ bytes }) => bytes !== undefined && printSize(bytes), ''),
  column.text('When', ({ at }) => compactInstant(at), ''),
  column.number(
    'Took',
    ({ durationMs }) => durationMs !== undefined && printDuration(durationMs),
    '',
  ),
];

/** Returns the rule of a search, if the logged address does not show it in readable form. */
function queryOf({ address, body }: LoggedRequest): string | undefined {
  const given =
    body === undefined
      ? new URL(address || '/', 'http://localhost').searchParams.get('query')
      : parseJsonObject(Buffer.from(body))?.query;
  return typeof given === 'string' && !address.includes(`query=${given}`) ? given : undefined;
}

function statusClassOf({ status }: LoggedRequest): string {
  return status === undefined ? 'none' : `${Math.floor(status / 100)}xx`;
}

function answerOf(request: LoggedRequest): Html {
  const { fault } = request;
  return html`${stateOfAnswer(request)}${fault !== undefined && html` <small class="once">fault: ${fault}</small>`}`;
}

function stateOfAnswer({ status, durationMs, cut, endpoint }: LoggedRequest): Html {
  if (status === undefined)
    return cut ? renderState('no answer', 'bad') : renderState('waiting', 'busy');
  const words = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  if (cut) return renderState(`${words}, hung up`, isStream(endpoint) ? 'idle' : 'warn');
  const shown = durationMs === undefined ? `${words}, sending` : words;
  if (status < 400) return renderState(shown, 'good');
  return renderState(shown, status < 500 ? 'warn' : 'bad');
}

function detailsOf(request: LoggedRequest, baseUrl: string): Html {
  const { method, address, body, error, endpoint, connection, quotas = [] } = request;
  const left = quotas.filter(quota => isLimited(quota) && quota.left < quota.rate.requests);
  // Signed requests cannot be repeated, and forms are not stored. In a logged address, `…` stands for a
  // secret, or for the end of a long address.
  const isRepeatable =
    !['oauth', 'engagement', 'job-files', 'pages'].includes(endpoint ?? '') &&
    !address.includes('…');
  const needsLogin = endpoint !== 'control';
  return html`${body !== undefined && jsonView('Body', body)}${error !== undefined && jsonView('Error', error)}
${isRepeatable && command('curl', curlOf(baseUrl + address, { method, body, isStream: isStream(endpoint), needsLogin }))}
<p class="hint">Connection ${connection}.${left.length > 0 && ` Left after it: ${left.map(({ left, rate }) => `${printNumber(left)} of ${rateOf(rate)}`).join(', ')}.`}</p>`;
}

function familiesOf(requests: readonly LoggedRequest[]): readonly Endpoint[] {
  const logged = new Set(requests.map(({ endpoint }) => endpoint));
  return ENDPOINT_NAMES.filter(endpoint => logged.has(endpoint));
}

function isLimited({ rate }: Quota): boolean {
  return Number.isFinite(rate.requests);
}

function rateOf({ requests, perMs, byDay }: Rate): string {
  if (byDay) return `${printNumber(requests)} a UTC day`;
  for (const [ms, unit] of [
    [DAY, 'day'],
    [HOUR, 'hour'],
    [MINUTE, 'minute'],
    [SECOND, 'second'],
  ] as const)
    if (perMs === ms) return `${printNumber(requests)} ${unit === 'hour' ? 'an' : 'a'} ${unit}`;
    else if (perMs % ms === 0) return `${printNumber(requests)} in ${perMs / ms} ${unit}s`;
  return `${printNumber(requests)} in ${perMs} ms`;
}
