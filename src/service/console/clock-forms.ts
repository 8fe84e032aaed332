import { SECOND } from '../../time.js';
import type { Clock } from '../clock.js';
import { type Html, html } from './html/html.js';
import { csrfField, instant, stateOf } from './html/page-parts.js';

export interface ClockForms {
  readonly clock: Clock;
  readonly csrf: string;
  /** Whether the clock is shown without forms. */
  readonly isReadOnly: boolean;
  readonly problem: string | undefined;
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
  const offset = Math.round((clock.now() - Date.now()) / SECOND);
  return html`<p class="row"><span class="headline">${instant(clock.now())}</span> ${
    clock.frozen ? stateOf('frozen', 'warn') : stateOf('running', 'good')
  }</p><p class="quiet">${Math.abs(offset) < 2 ? 'Real time.' : `${spanOf(Math.abs(offset))} ${offset > 0 ? 'ahead of' : 'behind'} real time.`}</p>`;
}

function changes(clock: Clock, csrf: string, problem: string | undefined): Html {
  const invalid =
    problem !== undefined && html` aria-invalid="true" aria-describedby="clock-problem"`;
  return html`${problem !== undefined && html`<p class="alarm" role="alert" id="clock-problem">${problem}</p>`}
<form method="post" action="/console/faults">${csrfField(csrf)}
<fieldset><legend>Move on by</legend><div class="row">${Object.entries(SPANS).map(
    ([span, label]) => html`<button class="plain" name="span" value="${span}">${label}</button>`,
  )}</div></fieldset></form>
<div class="fields">
<form method="post" action="/console/faults">${csrfField(csrf)}
<div class="field"><label for="advance">Move by</label>
<input id="advance" name="advance" type="text" placeholder="-2h" autocomplete="off" required${invalid}>
<span class="hint">30s, 31m, 2h, 15d; back with a minus</span></div>
<button name="action" value="advance">Move</button></form>
<form method="post" action="/console/faults">${csrfField(csrf)}
<div class="field"><label for="set">Set to</label>
<input id="set" name="set" type="text" placeholder="202405151234" autocomplete="off" required${invalid}>
<span class="hint">YYYYMMDDHHMM, or ISO 8601; UTC</span></div>
<button name="action" value="set">Set</button></form>
</div>
<form method="post" action="/console/faults">${csrfField(csrf)}<div class="row">
${clock.frozen ? html`<button name="action" value="resume">Let it run</button>` : html`<button name="action" value="freeze">Stop it</button>`}
<button name="action" value="reset">Back to real time</button></div></form>`;
}

function spanOf(seconds: number): string {
  const [days, hours, minutes] = [
    seconds / 86_400,
    (seconds / 3_600) % 24,
    (seconds / 60) % 60,
  ].map(Math.floor);
  const parts = [
    [days, 'd'],
    [hours, 'h'],
    [minutes, 'min'],
    [seconds % 60, 's'],
  ] as const;
  return parts
    .filter(([amount]) => amount)
    .slice(0, 2)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}
