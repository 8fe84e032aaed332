import { MINUTE, type Window } from '../../time.js';
import { endingOf, type LoggedReplay, type ReplayEnd } from '../replay/replay-log.js';
import { commandList, emptyPage } from './command-list.js';
import type { ConsolePage } from './console-page.js';
import { type Html, html } from './html/html.js';
import { stateOf, type Tone } from './html/page-parts.js';
import {
  type Column,
  column,
  headerColumn,
  listPage,
  newestFirst,
  numberColumn,
} from './html/table.js';
import { compactInstant, countOf, durationOf, minuteOf, numberOf, windowOf } from './html/units.js';

/** The most recent replays, with the text of their last message. */
export const replayPages: readonly ConsolePage[] = [
  {
    pattern: '/console/replays',
    section: 'replays',
    isLive: true,
    show({ parts, incoming: { url } }) {
      const { replays } = parts.replays;
      const caption = newestFirst(replays, 'replay');
      const { suffix, list } = listPage(url, replays, { caption, columns: COLUMNS });
      return {
        title: `Replays${suffix}`,
        lead: 'The connections to replay streams since the service started.',
        body: html`${
          replays.length === 0
            ? emptyPage(parts, 'replays', 'No replays yet.')
            : html`<section class="card">${list}</section>`
        }${commandList(parts, 'replays')}`,
      };
    },
  },
];

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
