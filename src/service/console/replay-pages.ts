import { endingOf } from '../replay/info-message.js';
import type { LoggedReplay } from '../replay/replay-log.js';
import type { ConsolePage, ConsoleParts } from './console-page.js';
import { type Html, html } from './html/html.js';
import { countOf, facts, instant, minuteOf, stateOf } from './html/page-parts.js';

/** The most recent replays, with the text of their last message. */
export function replayPages({ streams }: ConsoleParts): readonly ConsolePage[] {
  return [
    {
      pattern: '/console/replays',
      section: 'replays',
      show() {
        const { replays } = streams.replays;
        return {
          title: 'Replays',
          lead: html`Each connection to a replay stream since the service started, newest first; <a href="/console/replays">look again</a>.`,
          body:
            replays.length === 0
              ? html`<p class="card empty">No replays yet. The <a href="/console#replay">overview</a> has a command that starts one.</p>`
              : html`<div class="cards">${replays.map(replayCard)}</div>`,
        };
      },
    },
  ];
}

function replayCard({ number, streamType, window, startedAt, endedAt, end }: LoggedReplay): Html {
  return html`<article class="card" aria-labelledby="replay-${number}">
<header><h2 id="replay-${number}">${streamType}, ${minuteOf(window.from)} to ${minuteOf(window.to)} UTC</h2>
${stateOfReplay(end, endedAt)}</header>
${end !== undefined && html`<p><strong>${endingOf(end)}</strong></p>`}
${facts([
  ['Started', instant(startedAt)],
  ['Ended', endedAt === undefined ? 'not yet' : instant(endedAt)],
  ...(end === undefined
    ? []
    : ([['Activities', countOf(end.activityCount, 'activity', 'activities')]] as const)),
  ...(end?.unprocessed === undefined
    ? []
    : ([
        [
          'Not processed',
          html`${minuteOf(end.unprocessed.from)} to ${minuteOf(end.unprocessed.to)} UTC`,
        ],
      ] as const)),
])}
${
  end !== undefined &&
  end.minutesFailed.length > 0 &&
  end.unprocessed === undefined &&
  html`<section class="stack" aria-label="Failed minutes"><h3>${countOf(end.minutesFailed.length, 'minute')} failed</h3>
<ul class="pills">${end.minutesFailed.slice(0, 60).map(minute => html`<li>${minuteOf(minute)}</li>`)}</ul></section>`
}
</article>`;
}

function stateOfReplay(end: LoggedReplay['end'], endedAt: number | undefined): Html {
  if (endedAt === undefined) return stateOf('streaming', 'busy');
  if (end === undefined) return stateOf('cut off', 'bad');
  if (end.unprocessed !== undefined) return stateOf('failed', 'bad');
  return end.minutesFailed.length > 0
    ? stateOf('with errors', 'warn')
    : stateOf('complete', 'good');
}
