import { DAY, floorTo, HOUR, MINUTE, SECOND, type Window } from '../../../base/time.js';
import { type Html, html } from './html.js';

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
