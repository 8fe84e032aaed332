import { DAY, HOUR, MINUTE, SECOND } from '../../time.js';
import type { Quota } from '../http/quotas.js';
import { type LoggedRequest, shownAddress } from '../http/request-log.js';
import { ENDPOINTS, type Endpoint } from '../http/router.js';
import type { Rate } from '../http/service-limits.js';
import type { ConsolePage } from './console-page.js';
import { type Html, html } from './html/html.js';
import { breakable, choices, stateOf } from './html/page-parts.js';
import {
  besideColumn,
  type Column,
  column,
  headerColumn,
  listPage,
  newestFirst,
  numberColumn,
  table,
  withParameters,
} from './html/table.js';
import { compactInstant, durationOf, numberOf } from './html/units.js';

/** The most recent requests, and the remaining quotas. */
export const requestPages: readonly ConsolePage[] = [
  {
    pattern: '/console/requests',
    section: 'requests',
    isLive: true,
    show({ parts: { context }, incoming: { url } }) {
      const family = ENDPOINTS.find(endpoint => endpoint === url.searchParams.get('family'));
      const { requests } = context.requests;
      const listed = requests.filter(({ endpoint }) => family === undefined || endpoint === family);
      const caption = newestFirst(listed, 'request');
      const { suffix, list } = listPage(url, listed, { caption, columns: LOG_COLUMNS });
      const limited = context.quotas.left().filter(isLimited);
      return {
        title: `Requests${suffix}`,
        lead: 'What your programs have asked for, and what they may still ask. Views of the console’s own pages are not listed, sign-ins are.',
        body: html`<section class="card" aria-labelledby="log"><h2 id="log">Log</h2>
${choices(
  'Family',
  [undefined, ...familiesOf(requests)].map(name => ({
    name: name ?? 'all',
    address: withParameters(url, { family: name, page: undefined }),
    isCurrent: name === family,
  })),
)}
${listed.length === 0 ? html`<p class="empty">No requests yet. The <a href="/console#start">overview</a> has a first one.</p>` : list}</section>
<section class="card" aria-labelledby="quotas"><h2 id="quotas">Quotas left</h2>
${
  limited.length === 0
    ? html`<p class="empty">This service runs without rate limits (<code>--limits relaxed</code>).</p>`
    : table('By the clock of the service', QUOTA_COLUMNS, limited)
}</section>`,
      };
    },
  },
];

const QUOTA_COLUMNS: readonly Column<Quota>[] = [
  headerColumn('What', ({ label }) => label),
  besideColumn(
    'Left',
    ({ left, rate }) =>
      html`<meter min="0" max="${rate.requests}" low="${rate.requests * 0.25}" optimum="${rate.requests}" value="${left}" aria-hidden="true"></meter> ${numberOf(left)} of ${rateOf(rate)}`,
  ),
];

const LOG_COLUMNS: readonly Column<LoggedRequest>[] = [
  headerColumn(
    'Request',
    ({ method, address }) =>
      html`<span class="method">${method}</span> <code>${breakable(shownAddress(address))}</code>`,
  ),
  column('Answer', answerOf, ''),
  column('When', ({ at }) => compactInstant(at), ''),
  numberColumn('Took', ({ tookMs }) => tookMs !== undefined && durationOf(tookMs), ''),
  column(
    'Left after it',
    ({ quotas = [] }) =>
      quotas
        .filter(quota => isLimited(quota) && quota.left < quota.rate.requests)
        .map(
          ({ left, rate }) => html`<div class="once">${numberOf(left)} of ${rateOf(rate)}</div>`,
        ),
    'left',
  ),
];

function answerOf({ status, tookMs, isCut, fault, endpoint }: LoggedRequest): Html {
  const isStream = endpoint === 'replay' || endpoint === 'compliance';
  const state =
    status === undefined
      ? isCut
        ? stateOf('no answer', 'bad')
        : stateOf('waiting', 'busy')
      : isCut
        ? stateOf(`${status}, hung up`, isStream ? 'idle' : 'warn')
        : stateOf(
            tookMs === undefined ? `${status}, sending` : String(status),
            status < 400 ? 'good' : status < 500 ? 'warn' : 'bad',
          );
  return html`${state}${fault !== undefined && html` <small class="once">fault: ${fault}</small>`}`;
}

function familiesOf(requests: readonly LoggedRequest[]): readonly Endpoint[] {
  const logged = new Set(requests.map(({ endpoint }) => endpoint));
  return ENDPOINTS.filter(endpoint => logged.has(endpoint));
}

function isLimited({ rate }: Quota): boolean {
  return Number.isFinite(rate.requests);
}

function rateOf({ requests, perMs, byDay }: Rate): string {
  if (byDay) return `${numberOf(requests)} a UTC day`;
  for (const [ms, unit] of [
    [DAY, 'day'],
    [HOUR, 'hour'],
    [MINUTE, 'minute'],
    [SECOND, 'second'],
  ] as const)
    if (perMs === ms) return `${numberOf(requests)} ${unit === 'hour' ? 'an' : 'a'} ${unit}`;
    else if (perMs % ms === 0) return `${numberOf(requests)} in ${perMs / ms} ${unit}s`;
  return `${numberOf(requests)} in ${perMs} ms`;
}
