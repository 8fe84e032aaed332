import { DAY, floorTo, HOUR, MINUTE, SECOND, type Window } from '../../../base/time.js';
import { Html, type HtmlValue, html } from './html.js';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A state as a word, with a colour that repeats its meaning. */
export function renderState(word: string, tone: Tone): Html {
  return html`<span class="state ${tone}">${word}</span>`;
}

/** A list of names and values. Skips a fact that is `false`. */
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

/** What was typed into a form, unseen in another one. */
export function hiddenFields(form: URLSearchParams): readonly Html[] {
  return [...form]
    .filter(([name]) => name !== 'csrf')
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
}

/** Says what a refused option has to be in the words of a form: without the call, and without what a program passed. */
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

/** The fields of a sign-in: a name, a password, and why the last attempt failed. */
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

/** The last field of a sign-in, and why the last attempt failed. */
export function secretField(id: string, label: string, problem: string | undefined): Html {
  const isWrong = problem !== undefined;
  return html`<div class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="password" autocomplete="current-password" required${isWrong && html` aria-invalid="true" aria-describedby="problem" autofocus`}></div>
${isWrong && messageBox({ tone: 'bad', text: problem }, 'problem')}`;
}

/** The options of a `select`. */
export function options(values: readonly string[], current: string): readonly Html[] {
  return values.map(
    value => html`<option${value === current && html` selected`}>${value}</option>`,
  );
}

/** Code in which a line can end after the separators of addresses and JSON, and not within a flag. */
export function breakable(code: string): Html {
  return new Html(
    html`${code}`.text
      .replace(/(?<!\/)\/(?!\/)|[?,]|&amp;/g, '$&<wbr>')
      .replace(/(?<=^| )--?\w[\w-]*/g, '<span class="flag">$&</span>'),
  );
}

/** A command that a click selects completely, and the same as a script in TypeScript. */
export function command(caption: HtmlValue, text: string, typescript?: string): Html {
  return html`<figure class="command"><figcaption>${caption}</figcaption><pre><code>${breakable(text)}</code></pre>${
    typescript !== undefined &&
    html`<details><summary>TypeScript<span class="unseen"> of this command</span></summary><pre><code data-copy="Copy as TypeScript">${typescript}</code></pre></details>`
  }</figure>`;
}

/**
 * Links of which one is current, such as filters of a list.
 *
 * @param show What a link says, and where it leads.
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

/** What an action of a page did, or why it failed. */
export interface Message {
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

/** A message with the page and the element that show it. */
export interface Said {
  readonly message: Message;
  readonly path: string;
  readonly id: string;
  /** In milliseconds of real time. */
  readonly until: number;
}

/** The message of the element with an id, if there is one for it. */
export type MessageAt = (id: string) => Html | undefined;

/**
 * The message of a page, shown once: by `messageAt` in the element that it is about, or by `rest` at the top if there is
 * none.
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

/** A message as markup, read out by screen readers. */
export function messageBox({ tone, text }: Message, id?: string): Html {
  return tone === 'good'
    ? html`<p class="notice" role="status">${text}</p>`
    : html`<p class="alarm" role="alert"${id !== undefined && html` id="${id}"`}>${text}</p>`;
}

/** An instant, to the second. */
export function instant(ms: number): Html {
  return html`<time datetime="${isoOf(ms, SECOND)}">${instantText(ms)}</time>`;
}

/** `2026-11-21 20:33:12 UTC` */
export function instantText(ms: number): string {
  return isoOf(ms, SECOND).replace('T', ' ').replace('Z', ' UTC');
}

/** The same for a narrow column: the time of day above the date. */
export function compactInstant(ms: number): Html {
  const iso = isoOf(ms, SECOND);
  const [date, time] = iso.split('T');
  return html`<time datetime="${iso}">${time?.replace('Z', '')} UTC <span class="second">${date}</span></time>`;
}

/** An instant, to the minute. */
export function renderMinute(ms: number): Html {
  return html`${minuteWithoutZone(ms)} UTC`;
}

/** `2026-11-21 20:33 to 20:43 UTC`; the date stands twice where the days differ. */
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

/** An ISO date and time, without the parts below the unit. */
function isoOf(ms: number, unit: typeof SECOND | typeof MINUTE): string {
  const iso = new Date(floorTo(unit, ms)).toISOString();
  return iso.replace(unit === SECOND ? /\.000Z$/ : /:00\.000Z$/, 'Z');
}

const count = new Intl.NumberFormat('en');

export function printNumber(value: number): string {
  return count.format(value);
}

/** `1 post`, `2 posts` */
export function printCount(value: number, one: string, many = `${one}s`): string {
  return `${printNumber(value)} ${value === 1 ? one : many}`;
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB'] as const;

/** `532 bytes`, `12.5 kB`: in powers of 1000. */
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

/** `400 ms`, `20 seconds`, `6 minutes`, `1.5 hours`: in the largest unit that fits. */
export function printDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  const [unit, unitMs] = TIME_UNITS.findLast(([, unitMs]) => ms >= unitMs) ?? TIME_UNITS[0];
  const value = shortNumber(ms / unitMs);
  return `${value} ${value === '1' ? unit : `${unit}s`}`;
}

/** `23 minutes 59 seconds`: the two largest units, for a duration of at least a second. */
export function printExactDuration(ms: number): string {
  let rest = ms;
  const parts = TIME_UNITS.toReversed().flatMap(([unit, unitMs]) => {
    const amount = Math.floor(rest / unitMs);
    rest %= unitMs;
    return amount > 0 ? [printCount(amount, unit)] : [];
  });
  return parts.slice(0, 2).join(' ');
}

/** With one decimal below 100, none from there on. */
function shortNumber(value: number): string {
  return count.format(value < 99.95 ? Math.round(value * 10) / 10 : Math.round(value));
}
