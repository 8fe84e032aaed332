import { createHash } from 'node:crypto';
import { DAY, HOUR, MINUTE } from '../../base/time.js';
import type { PrintedEvent } from '../compliance/generated-events.js';
import { subjectOf } from '../compliance/injected-events.js';
import type { ConsolePage } from './console-page.js';
import { commandList } from './endpoint-list.js';
import { type Html, html } from './html/html.js';
import { breakable, choices, compactInstant } from './html/page-parts.js';
import {
  column,
  type HtmlColumn,
  listPage,
  newestFirstCaption,
  withParameters,
} from './html/table.js';
import { jsonView } from './post-view.js';

const SPANS = {
  '10m': ['10 minutes', 10 * MINUTE],
  '1h': ['hour', HOUR],
  '6h': ['6 hours', 6 * HOUR],
  '1d': ['day', DAY],
} as const;
const SPAN_NAMES = Object.keys(SPANS) as (keyof typeof SPANS)[];

export const compliancePages: readonly ConsolePage[] = [
  {
    pattern: '/console/compliance',
    section: 'compliance',
    isLive: true,
    async show(visit) {
      const { context, url, signal } = visit;
      const span = SPAN_NAMES.find(name => name === url.searchParams.get('last')) ?? '1h';
      const [words, ms] = SPANS[span];
      const now = context.clock.now();
      const { compliance, posts } = context;
      const version = posts.in((await context.archive()).format);
      const events = await compliance.recent({ from: now - ms, to: now + 1 }, version, signal);
      const { suffix, list } = listPage(url, events.toReversed(), {
        caption: newestFirstCaption(events, 'event'),
        columns: COLUMNS,
        idOf: ({ at, json }) =>
          `event-${createHash('sha256').update(`${at} ${json}`).digest('hex').slice(0, 12)}`,
      });
      return {
        title: `Compliance${suffix}`,
        lead: 'Deletions and other events that your copies of posts have to follow, as the compliance stream sends them.',
        body: html`<section class="card" id="events" data-live>${choices(
          'How far back',
          SPAN_NAMES,
          span,
          last => [`Last ${SPANS[last][0]}`, withParameters(url, { last, page: undefined })],
        )}
${events.length === 0 ? none(words, context.settings.complianceRate === 0) : list}</section>${commandList(visit, 'compliance')}`,
      };
    },
  },
];

const COLUMNS: readonly HtmlColumn<PrintedEvent>[] = [
  column.header(
    'Kind',
    ({ json, partition }) =>
      html`<span class="word">${shortened(subjectOf(json).kind)}</span> <span class="second">partition ${partition}</span>`,
  ),
  column.text('Post', ({ json }) => idShown(subjectOf(json).post), 'post'),
  column.text('User', ({ json }) => idShown(subjectOf(json).user), 'user'),
  column.beside('When', ({ at }) => compactInstant(at)),
  column.text(
    'Message',
    ({ json }) => html`<details><summary>JSON</summary>${jsonView(undefined, json)}</details>`,
    '',
  ),
];

const MAX_KIND_LENGTH = 24;

const idShown = (id: string | undefined) => id !== undefined && html`<code>${breakable(id)}</code>`;

function shortened(kind: string): string {
  return kind.length > MAX_KIND_LENGTH ? `${kind.slice(0, MAX_KIND_LENGTH)}…` : kind;
}

function none(words: string, isOff: boolean): Html {
  return html`<p class="empty">No events in the last ${words}. ${
    isOff &&
    html`This service makes none up: start it with <code>${breakable('--compliance-rate 0.05')}</code>, or send one to <code>POST /_control/compliance</code>.`
  }</p>`;
}
