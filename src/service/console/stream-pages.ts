import { Activity } from '../../activity/activity.js';
import { fieldsOf } from '../../activity/fields-of.js';
import { DataError } from '../../errors.js';
import { MINUTE, parseTimestamp, type Window } from '../../time.js';
import type { OpenStream } from '../http/open-stream.js';
import { endingOf, type LoggedReplay, type ReplayEnd } from '../replay/replay-log.js';
import { commandList, emptyPage } from './command-list.js';
import type { ConsolePage } from './console-page.js';
import { type Html, html, isolated } from './html/html.js';
import { breakable, facts, stateOf, type Tone } from './html/page-parts.js';
import {
  type Column,
  column,
  headerColumn,
  listPage,
  newestFirst,
  numberColumn,
} from './html/table.js';
import {
  compactInstant,
  countOf,
  durationOf,
  instant,
  minuteOf,
  numberOf,
  sizeOf,
  windowOf,
} from './html/units.js';
import { STREAM_RULES } from './stream-rule-pages.js';

/** The open connections with what flows, and the most recent replays with the text of their last message. */
export const streamPages: readonly ConsolePage[] = [
  {
    pattern: '/console/streams',
    section: 'streams',
    isLive: true,
    async show({ parts, incoming: { url } }) {
      const { replays } = parts.replays;
      const { streams } = parts.context;
      await parts.rules.open();
      const caption = newestFirst(replays, 'replay');
      const { suffix, list } = listPage(url, replays, { caption, columns: COLUMNS });
      return {
        title: `Streams${suffix}`,
        lead: html`What flows now, and the replays since the service started. The stream has <a href="${STREAM_RULES}">${countOf(parts.rules.size, 'rule')}</a>.`,
        body: html`<div class="stack" id="flows" data-live>${[...streams].map(flowCard)}${streams.size === 0 && html`<p class="card empty">Nothing is connected.</p>`}</div>
<div id="replays" data-live>${
          replays.length === 0
            ? emptyPage(parts, 'streams', 'No replays yet.')
            : html`<section class="card" aria-label="Replays">${list}</section>`
        }</div>${commandList(parts, 'streams')}`,
      };
    },
  },
];

/** What flows through a connection. */
function flowCard({ endpoint, url, startedAt, flow }: OpenStream): Html {
  const { messages, perSecond, backlogBytes, recent } = flow;
  const [from, to] = ['fromDate', 'toDate'].map(name =>
    parseTimestamp(url.searchParams.get(name) ?? ''),
  );
  const title =
    endpoint === 'compliance'
      ? 'Compliance stream'
      : html`Replay of ${url.pathname.split('/')[2]}, ${from !== undefined && to !== undefined && windowOf({ from, to })}`;
  return html`<section class="card" aria-label="Connection"><h2>${title}</h2>${facts([
    ['Messages', html`<span class="headline">${numberOf(messages)}</span>`],
    ['A second', html`<span class="headline">${numberOf(Math.round(perSecond * 10) / 10)}</span>`],
    ['Waiting to be read', sizeOf(backlogBytes)],
    ['Since', instant(startedAt)],
  ])}<ul class="stack" aria-label="Last messages">${recent.map(message => html`<li>${lineOf(message)}</li>`)}</ul></section>`;
}

const MAX_LINE = 160;

/** A message of a stream in a line: the text of a post, or JSON. */
function lineOf(message: Uint8Array): Html {
  const short = (text: string) => (text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text);
  try {
    const activity = new Activity(message);
    return html`<strong>${isolated(`@${activity.author.handle}`)}</strong> ${short(fieldsOf(activity).text)}`;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return html`<code>${breakable(short(Buffer.from(message).toString()))}</code>`;
  }
}

const COLUMNS: readonly Column<LoggedReplay>[] = [
  headerColumn(
    'Replay',
    ({ streamType, window }) => html`${streamType} <small>${windowOf(window)}</small>`,
  ),
  column(
    'Last message',
    replay => html`${stateOf(...outcomeOf(replay))}${replay.end && missingOf(replay.end)}`,
    '',
  ),
  numberColumn('Activities', ({ end }) => end && numberOf(end.activityCount)),
  column('Started', ({ startedAt }) => compactInstant(startedAt), ''),
  numberColumn(
    'Took',
    ({ startedAt, endedAt }) => endedAt !== undefined && durationOf(endedAt - startedAt),
    'took',
  ),
];

const MAX_RANGES = 5;

/** What a replay did not deliver. */
function missingOf({ unprocessed, minutesFailed }: ReplayEnd): Html | undefined {
  if (unprocessed !== undefined)
    return html`<small>Not processed: ${windowOf(unprocessed)}</small>`;
  if (minutesFailed.length === 0) return undefined;
  const ranges = rangesOf(minutesFailed);
  return html`<small>${countOf(minutesFailed.length, 'minute')} failed: ${ranges
    .slice(0, MAX_RANGES)
    .map(
      (range, index) => html`${index > 0 && ', '}${rangeOf(range)}`,
    )}${ranges.length > MAX_RANGES && ' and others'}</small>`;
}

/** Minutes that follow each other, as one window. */
function rangesOf(minutes: readonly number[]): readonly Window[] {
  const ranges: Window[] = [];
  for (const from of minutes.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.to === from) ranges[ranges.length - 1] = { from: last.from, to: from + MINUTE };
    else ranges.push({ from, to: from + MINUTE });
  }
  return ranges;
}

function rangeOf(range: Window): Html {
  return range.to - range.from === MINUTE ? minuteOf(range.from) : windowOf(range);
}

/** The last message of a replay, or why there is none. */
export function outcomeOf({ end, endedAt }: LoggedReplay): readonly [words: string, tone: Tone] {
  if (endedAt === undefined) return ['streaming', 'busy'];
  if (end === undefined) return ['cut off before its last message', 'bad'];
  if (end.unprocessed !== undefined) return [endingOf(end), 'bad'];
  return [endingOf(end), end.minutesFailed.length > 0 ? 'warn' : 'good'];
}
