import { DAY, floorTo, HOUR, MINUTE, SECOND } from '../../../time.js';
import { type Html, type HtmlValue, html } from './html.js';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A state as a word, with a colour that repeats its meaning. */
export function stateOf(word: string, tone: Tone): Html {
  return html`<span class="state ${tone}">${word}</span>`;
}

/** An instant, to the second. */
export function instant(ms: number): Html {
  const iso = new Date(floorTo(SECOND, ms)).toISOString().replace('.000Z', 'Z');
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}

/** The same for a narrow column: the time of day above the date. */
export function compactInstant(ms: number): Html {
  const iso = new Date(floorTo(SECOND, ms)).toISOString().replace('.000Z', 'Z');
  const [date, time] = iso.split('T');
  return html`<time datetime="${iso}">${time?.replace('Z', '')} <span class="date">${date}</span></time>`;
}

/** An instant, to the minute. */
export function minuteOf(ms: number): Html {
  const iso = new Date(floorTo(MINUTE, ms)).toISOString().replace(':00.000Z', 'Z');
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', '')}</time>`;
}

const count = new Intl.NumberFormat('en');

export function numberOf(value: number): string {
  return count.format(value);
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB'] as const;

/** `532 bytes`, `12.5 kB`: in powers of 1000. */
export function sizeOf(bytes: number): string {
  if (bytes < 999.5) return countOf(Math.round(bytes), 'byte');
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

/** `20 seconds`, `6 minutes`, `1.5 hours`: in the largest unit that fits. */
export function durationOf(ms: number): string {
  const [unit, unitMs] = TIME_UNITS.findLast(([, unitMs]) => ms >= unitMs) ?? TIME_UNITS[0];
  const value = shortNumber(ms / unitMs);
  return `${value} ${value === '1' ? unit : `${unit}s`}`;
}

/** With one decimal below 100, none from there on. */
function shortNumber(value: number): string {
  return count.format(value < 99.95 ? Math.round(value * 10) / 10 : Math.round(value));
}

/** `1 post`, `2 posts` */
export function countOf(value: number, one: string, many = `${one}s`): string {
  return `${numberOf(value)} ${value === 1 ? one : many}`;
}

export interface Column<Row> {
  readonly label: string;
  /** Whether the column names the row. */
  readonly isHeader?: boolean | undefined;
  readonly isNumber?: boolean | undefined;
  readonly cell: (row: Row) => HtmlValue;
}

/**
 * A table, which phones show as a list of rows. The explicit roles keep it a table for screen readers,
 * since browsers drop the implicit ones when CSS changes the layout.
 */
export function table<Row>(
  caption: HtmlValue,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  const kind = ({ isNumber }: Column<Row>) => isNumber && html` class="number"`;
  return html`<table role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    column => html`<th role="columnheader" scope="col"${kind(column)}>${column.label}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map(
    row =>
      html`<tr role="row">${columns.map(column =>
        column.isHeader
          ? html`<th role="rowheader" scope="row" data-label="${column.label}"><span>${column.cell(row)}</span></th>`
          : html`<td role="cell" data-label="${column.label}"${kind(column)}><span>${column.cell(row)}</span></td>`,
      )}</tr>
`,
  )}</tbody>
</table>`;
}

export interface Paged<Row> {
  /** The rows of the requested page. */
  readonly rows: readonly Row[];
  /** Links to the previous and next page. */
  readonly links: HtmlValue;
}

const PAGE_ROWS = 50;

/** The page of a long list that the `page` parameter selects. */
export function paged<Row>(all: readonly Row[], { pathname, searchParams }: URL): Paged<Row> {
  const last = Math.max(1, Math.ceil(all.length / PAGE_ROWS));
  const requested = Number(searchParams.get('page') ?? 1);
  const page = Number.isInteger(requested) ? Math.min(Math.max(requested, 1), last) : 1;
  const addressOf = (other: number) => {
    const query = new URLSearchParams(searchParams);
    query.set('page', String(other));
    return `${pathname}?${query}`;
  };
  return {
    rows: all.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS),
    links:
      last > 1 &&
      html`<nav class="row" aria-label="Pages">${page > 1 && html`<a class="button" rel="prev" href="${addressOf(page - 1)}">Newer</a>`}
<span class="quiet">Page ${page} of ${last}</span>${page < last && html`<a class="button" rel="next" href="${addressOf(page + 1)}">Older</a>`}</nav>`,
  };
}

/** A list of names and values. */
export function facts(entries: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  return html`<dl class="facts">${entries.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

/** A command that a click selects completely. */
export function command(caption: HtmlValue, text: string): Html {
  return html`<figure class="command"><figcaption>${caption}</figcaption><pre><code>${text}</code></pre></figure>`;
}
