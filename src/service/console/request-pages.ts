import { DAY, HOUR, MINUTE, SECOND } from '../../time.js';
import { ENDPOINTS, type Endpoint } from '../http/endpoints.js';
import type { Quota } from '../http/quotas.js';
import type { LoggedRequest } from '../http/request-log.js';
import type { Rate } from '../http/service-limits.js';
import type { ConsolePage, ConsoleParts } from './console-page.js';
import { type Html, html } from './html/html.js';
import { compactInstant, countOf, numberOf, paged, stateOf, table } from './html/page-parts.js';

/** The most recent requests, and the remaining quotas. */
export function requestPages({ context }: ConsoleParts): readonly ConsolePage[] {
  return [
    {
      pattern: '/console/requests',
      section: 'requests',
      show({ incoming: { url } }) {
        const family = ENDPOINTS.find(endpoint => endpoint === url.searchParams.get('family'));
        const { requests } = context.requests;
        const listed = requests.filter(
          ({ endpoint }) => family === undefined || endpoint === family,
        );
        const { rows, links } = paged(listed, url);
        const quotas = context.quotas.left();
        const limited = quotas.filter(isLimited);
        return {
          title: 'Requests',
          lead: html`What your programs have asked for, and what they may still ask. Views of the console’s own pages are not listed, sign-ins are; <a href="${url.pathname + url.search}">look again</a>.`,
          body: html`<section class="card" aria-labelledby="quotas"><h2 id="quotas">Quotas left</h2>
${
  limited.length === 0
    ? html`<p class="empty">This service runs without rate limits (<code>--limits relaxed</code>).</p>`
    : quotaTable(limited)
}</section>
<section class="card" aria-labelledby="log"><h2 id="log">Log</h2>
<nav aria-label="Family"><ul class="pills">${familyLink(undefined, family)}${familiesOf(
            requests,
          ).map(name => familyLink(name, family))}</ul></nav>
${rows.length === 0 ? html`<p class="empty">Nothing yet.</p>` : logTable(rows, listed.length)}${links}</section>`,
        };
      },
    },
  ];
}

function quotaTable(quotas: readonly Quota[]): Html {
  return table(
    'By the clock of the service',
    [
      { label: 'What', isHeader: true, cell: ({ label }) => label },
      { label: 'Limit', cell: ({ rate }) => rateOf(rate) },
      {
        label: 'Left',
        cell: ({ left, rate: { requests } }) =>
          html`<meter min="0" max="${requests}" low="${requests * 0.25}" optimum="${requests}" value="${left}" aria-hidden="true"></meter> <span class="once">${numberOf(left)} of ${numberOf(requests)}</span>`,
      },
    ],
    quotas,
  );
}

function logTable(requests: readonly LoggedRequest[], all: number): Html {
  return table(
    countOf(all, 'request'),
    [
      { label: 'When', cell: ({ at }) => compactInstant(at) },
      {
        label: 'Request',
        isHeader: true,
        cell: ({ method, address }) =>
          html`<span class="method">${method}</span> <code>${address}</code>`,
      },
      { label: 'Answer', cell: answerOf },
      {
        label: 'Took',
        isNumber: true,
        cell: ({ tookMs }) => tookMs !== undefined && timeOf(tookMs),
      },
      {
        label: 'Left after it',
        cell: ({ quotas = [] }) =>
          quotas
            .filter(isLimited)
            .map(
              ({ left, rate }) =>
                html`<div class="once">${numberOf(left)} of ${rateOf(rate)}</div>`,
            ),
      },
    ],
    requests,
  );
}

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

function familyLink(name: Endpoint | undefined, current: Endpoint | undefined): Html {
  const query = name === undefined ? '' : `?family=${name}`;
  return html`<li><a href="/console/requests${query}"${name === current && html` aria-current="page"`}>${name ?? 'all'}</a></li>`;
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

function timeOf(ms: number): string {
  return ms < SECOND ? `${Math.round(ms)} ms` : `${(ms / SECOND).toFixed(1)} s`;
}
