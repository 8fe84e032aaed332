import { DAY, floorTo, HOUR, MINUTE, SECOND, type Window } from '../../../base/time.js';
import { Html, type HtmlValue, html } from './html.js';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/**
 * Renders a state as a coloured word. The word must be clear without the colour, which some users cannot see.
 */
export function renderState(word: string, tone: Tone): Html {
  return html`<span class="state ${tone}">${word}</span>`;
}

export function facts(
  entries: readonly (readonly [name: string, value: HtmlValue] | false)[],
): Html {
  return html`<dl class="facts">${entries.map(
    entry => entry && html`<div><dt>${entry[0]}</dt><dd>${entry[1]}</dd></div>`,
  )}</dl>`;
}

export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

export function hiddenFields(form: URLSearchParams): readonly Html[] {
  return [...form]
    .filter(([name]) => name !== 'csrf')
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
}

/**
 * Rewrites an error message about an option as a message about a field of a form. Removes the name of the
 * call and the value that was passed.
 */
export function inWords(message: string): string {
  const words = message
    .replace(/^[\w.]+: (?:`posts`: )?/, '')
    .replace(/`(?:(?:fault|posts)\.)?([^`]*)`/g, '“$1”')
    .replace('unknown option', 'unknown field')
    .replace(', an object or an Activity', ' as one object')
    .replace('a Date, epoch milliseconds, ', '')
    .replace(/(?:, got |[;.] it starts with )[\s\S]*$/i, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.?]$/.test(words) ? '' : '.'}`;
}

export function signInFields(
  [id, label, attributes]: readonly [id: string, label: string, attributes?: Html],
  value: string,
  problem: string | undefined,
): Html {
  const invalid = problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`;
  return html`<div class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="text" value="${value}"${attributes} autocomplete="username" autocapitalize="none" spellcheck="false" required${invalid}></div>
${secretField('password', 'Password', problem)}`;
}

export function secretField(id: string, label: string, problem: string | undefined): Html {
  const isWrong = problem !== undefined;
  return html`<div class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="password" autocomplete="current-password" required${isWrong && html` aria-invalid="true" aria-describedby="problem" autofocus`}></div>
${isWrong && messageBox({ tone: 'bad', text: problem }, 'problem')}`;
}

export function options(values: readonly string[], current: string): readonly Html[] {
  return values.map(
    value => html`<option${value === current && html` selected`}>${value}</option>`,
  );
}

/** Renders code. Lines may break after `/`, `?`, `&` and `,`, but not inside a flag such as `--only`. */
export function breakable(code: string): Html {
  return new Html(
    html`${code}`.text
      .replace(/(?<!\/)\/(?!\/)|[?,]|&amp;/g, '$&<wbr>')
      .replace(/(?<=^| )--?\w[\w-]*/g, '<span class="flag">$&</span>'),
  );
}

export function command(caption: HtmlValue, text: string, typescript?: string): Html {
  return html`<figure class="command"><figcaption>${caption}</figcaption><pre><code>${breakable(text)}</code></pre>${
    typescript !== undefined &&
    html`<details><summary>TypeScript<span class="unseen"> of this command</span></summary><pre><code data-copy="Copy as TypeScript">${typescript}</code></pre></details>`
  }</figure>`;
}

/**
 * Renders links, one of which is marked as the current one. For example, the filters of a list.
 *
 * @param show Returns the text and the address of a link.
 */
export function choices<Value>(
  label: string,
  all: readonly Value[],
  current: Value,
  show: (value: Value) => readonly [name: string, address: string],
): Html {
  return html`<nav aria-label="${label}"><ul class="pills">${all.map(value => {
    const [name, address] = show(value);
    return html`<li><a href="${address}"${value === current && html` aria-current="true"`}>${name}</a></li>`;
  })}</ul></nav>`;
}

export interface Message {
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

export interface Said {
  readonly message: Message;
  readonly path: string;
  readonly id: string;
  /** The time after which the message is not shown anymore, in milliseconds of real time. */
  readonly until: number;
}

/** Renders the message of the last action, if it belongs to the element with this id. */
export type MessageAt = (id: string) => Html | undefined;

/**
 * Returns two functions that show the message of a page once. `messageAt` shows it in its element. `rest`
 * shows it at the top of the page if that element does not exist.
 */
export function placeMessage(said: Said | undefined) {
  let left = said;
  const rest = () => {
    const taken = left;
    left = undefined;
    return taken && messageBox(taken.message);
  };
  const messageAt: MessageAt = id => (left?.id === id ? rest() : undefined);
  return { messageAt, rest };
}

/** Renders a message. Because of its `role`, screen readers read it aloud. */
export function messageBox({ tone, text }: Message, id?: string): Html {
  return tone === 'good'
    ? html`<p class="notice" role="status">${text}</p>`
    : html`<p class="alarm" role="alert"${id !== undefined && html` id="${id}"`}>${text}</p>`;
}

export function instant(ms: number): Html {
  return html`<time datetime="${isoOf(ms, SECOND)}">${instantText(ms)}</time>`;
}

/** Formats an instant as `2026-11-21 20:33:12 UTC`. */
export function instantText(ms: number): string {
  return isoOf(ms, SECOND).replace('T', ' ').replace('Z', ' UTC');
}

/** Renders an instant for a narrow column, with the time of day above the date. */
export function compactInstant(ms: number): Html {
  const iso = isoOf(ms, SECOND);
  const [date, time] = iso.split('T');
  return html`<time datetime="${iso}">${time?.replace('Z', '')} UTC <span class="second">${date}</span></time>`;
}

export function renderMinute(ms: number): Html {
  return html`${minuteWithoutZone(ms)} UTC`;
}

/** Renders a window as `2026-11-21 20:33 to 20:43 UTC`. If the days differ, both dates are shown. */
export function renderWindow({ from, to }: Window): Html {
  const isOneDay = floorTo(DAY, from) === floorTo(DAY, to);
  const end = isoOf(to, MINUTE);
  return html`${minuteWithoutZone(from)} to ${
    isOneDay ? html`<time datetime="${end}">${end.slice(-6, -1)}</time>` : minuteWithoutZone(to)
  } UTC`;
}

function minuteWithoutZone(ms: number): Html {
  const iso = isoOf(ms, MINUTE);
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', '')}</time>`;
}

function isoOf(ms: number, unit: typeof SECOND | typeof MINUTE): string {
  const iso = new Date(floorTo(unit, ms)).toISOString();
  return iso.replace(unit === SECOND ? /\.000Z$/ : /:00\.000Z$/, 'Z');
}

const count = new Intl.NumberFormat('en');

export function printNumber(value: number): string {
  return count.format(value);
}

/** Formats a count as `1 post` or `2 posts`. */
export function printCount(value: number, one: string, many = `${one}s`): string {
  return `${printNumber(value)} ${value === 1 ? one : many}`;
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB'] as const;

/** Formats a size as `532 bytes` or `12.5 kB`, in powers of 1000. */
export function printSize(bytes: number): string {
  if (bytes < 999.5) return printCount(Math.round(bytes), 'byte');
  let value = bytes;
  let unit = -1;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${shortNumber(value)} ${BYTE_UNITS[unit]}`;
}

const TIME_UNITS = [
  ['second', SECOND],
  ['minute', MINUTE],
  ['hour', HOUR],
  ['day', DAY],
] as const;

/** Formats a duration as `400 ms`, `20 seconds`, `6 minutes` or `1.5 hours`, in the largest unit that fits. */
export function printDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  const [unit, unitMs] = TIME_UNITS.findLast(([, unitMs]) => ms >= unitMs) ?? TIME_UNITS[0];
  const value = shortNumber(ms / unitMs);
  return `${value} ${value === '1' ? unit : `${unit}s`}`;
}

/** Formats a duration of at least a second in its two largest units, such as `23 minutes 59 seconds`. */
export function printExactDuration(ms: number): string {
  let rest = ms;
  const parts = TIME_UNITS.toReversed().flatMap(([unit, unitMs]) => {
    const amount = Math.floor(rest / unitMs);
    rest %= unitMs;
    return amount > 0 ? [printCount(amount, unit)] : [];
  });
  return parts.slice(0, 2).join(' ');
}

/** Formats a number with one decimal below 100, otherwise with none. */
function shortNumber(value: number): string {
  return count.format(value < 99.95 ? Math.round(value * 10) / 10 : Math.round(value));
}
