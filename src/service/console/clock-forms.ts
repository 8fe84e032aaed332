import { SECOND } from '../../time.js';
import type { Clock } from '../clock.js';
import { type Html, html } from './html/html.js';
import { csrfField, messageBox, stateOf } from './html/page-parts.js';
import { exactDurationOf, instant } from './html/units.js';

export interface ClockForms {
  readonly clock: Clock;
  readonly csrf: string;
  /** Whether the clock is shown without forms. */
  readonly isReadOnly: boolean;
  readonly problem: ClockProblem | undefined;
}

/** Why a change was refused, and what was typed. */
export interface ClockProblem {
  readonly message: string;
  readonly form: URLSearchParams;
}

const SPANS = {
  '1m': '1 minute',
  '31m': '31 minutes',
  '1h': '1 hour',
  '1d': '1 day',
  '5d': '5 days',
  '15d': '15 days',
} as const;

/** Shows the clock, with forms to change it. */
export function clockForms({ clock, csrf, isReadOnly, problem }: ClockForms): Html {
  return html`${clockFace(clock)}${!isReadOnly && changes(clock, csrf, problem)}`;
}

export function clockFace(clock: Clock): Html {
  const aheadMs = clock.now() - Date.now();
  const offMs = Math.abs(aheadMs);
  return html`<p class="row"><span class="headline">${instant(clock.now())}</span> ${
    clock.frozen ? stateOf('frozen', 'warn') : stateOf('running', 'good')
  }</p><p class="quiet">${offMs < 2 * SECOND ? 'Real time.' : `${exactDurationOf(offMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} real time.`}</p>`;
}

function changes(clock: Clock, csrf: string, problem: ClockProblem | undefined): Html {
  const isWrong = (name: string) => problem?.form.has(name) === true;
  const typed = (name: string) =>
    isWrong(name) &&
    html` value="${problem?.form.get(name)}" aria-invalid="true" aria-describedby="clock-problem" autofocus`;
  const box = problem && messageBox({ tone: 'bad', text: problem.message }, 'clock-problem');
  return html`<form method="post" action="/console/faults">${csrfField(csrf)}
<fieldset><legend>Move on by</legend><div class="row tight">${Object.entries(SPANS).map(
    ([span, label]) => html`<button class="plain" name="span" value="${span}">${label}</button>`,
  )}</div></fieldset></form>
<div class="fields">
<form method="post" action="/console/faults">${csrfField(csrf)}
<div class="field"><label for="advance">Move by</label>
<div class="joined"><input id="advance" name="advance" type="text" autocomplete="off" required${typed('advance')}>
<button name="action" value="advance">Move</button></div>
<span class="hint">30s, 31m, 2h, 15d; back with a minus: -2h</span></div>${isWrong('advance') && box}</form>
<form method="post" action="/console/faults">${csrfField(csrf)}
<div class="field"><label for="set">Set to</label>
<div class="joined"><input id="set" name="set" type="text" autocomplete="off" required${typed('set')}>
<button name="action" value="set">Set</button></div>
<span class="hint">202405151234, or ISO 8601; in UTC</span></div>${isWrong('set') && box}</form>
</div>${!isWrong('advance') && !isWrong('set') && box}
<form method="post" action="/console/faults">${csrfField(csrf)}<div class="row tight">
${clock.frozen ? html`<button class="plain" name="action" value="resume">Let the clock run</button>` : html`<button class="plain" name="action" value="freeze">Stop the clock</button>`}
<button class="plain" name="action" value="reset">Back to real time</button></div></form>`;
}
