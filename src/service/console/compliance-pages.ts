import { DAY, HOUR, MINUTE } from '../../time.js';
import type { ComplianceEvent } from '../compliance/generated-events.js';
import type { ConsolePage, ConsoleParts } from './console-page.js';
import { type Html, html } from './html/html.js';
import { compactInstant, countOf, paged, table } from './html/page-parts.js';

const SPANS = {
  '10m': ['10 minutes', 10 * MINUTE],
  '1h': ['hour', HOUR],
  '6h': ['6 hours', 6 * HOUR],
  '1d': ['day', DAY],
} as const;

/** The most recent compliance events. */
export function compliancePages({ compliance, context }: ConsoleParts): readonly ConsolePage[] {
  return [
    {
      pattern: '/console/compliance',
      section: 'compliance',
      async show({ incoming: { url, signal } }) {
        const requested = url.searchParams.get('last') ?? '';
        const span = Object.hasOwn(SPANS, requested) ? (requested as keyof typeof SPANS) : '1h';
        const [words, ms] = SPANS[span];
        const now = context.clock.now();
        const events = await compliance.within({ from: now - ms, to: now + 1 }, signal);
        const { rows, links } = paged(events.toReversed(), url);
        return {
          title: 'Compliance',
          lead: html`Deletions and other events that your copies of posts have to follow, as the compliance stream sends them.`,
          body: html`<section class="card"><nav aria-label="How far back"><ul class="pills">${Object.entries(
            SPANS,
          ).map(
            ([name, [label]]) =>
              html`<li><a href="/console/compliance?last=${name}"${name === span && html` aria-current="page"`}>Last ${label}</a></li>`,
          )}</ul></nav>
${rows.length === 0 ? none(words, context.settings.complianceRate === 0) : eventTable(rows, events.length)}${links}</section>`,
        };
      },
    },
  ];
}

function eventTable(newest: readonly ComplianceEvent[], all: number): Html {
  return table(
    countOf(all, 'event'),
    [
      { label: 'When', isHeader: true, cell: ({ at }) => compactInstant(at) },
      { label: 'Kind', cell: ({ json }) => html`<strong class="word">${kindOf(json)}</strong>` },
      { label: 'Partition', isNumber: true, cell: ({ partition }) => partition },
      { label: 'Message', cell: ({ json }) => html`<code>${json}</code>` },
    ],
    newest,
  );
}

const MAX_KIND_LENGTH = 24;

/** The first key of an event, which is its kind. */
function kindOf(json: string): string {
  const kind = /"([^"]*)"/.exec(json)?.[1] ?? '';
  return kind.length > MAX_KIND_LENGTH ? `${kind.slice(0, MAX_KIND_LENGTH)}…` : kind;
}

function none(words: string, isOff: boolean): Html {
  return html`<p class="empty">No events in the last ${words}. ${
    isOff &&
    html`This service generates none: start it with <code>--compliance-rate 0.05</code>, or send one to <code>POST /_control/compliance</code>.`
  }</p>`;
}
