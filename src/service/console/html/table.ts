import { type Html, type HtmlValue, html } from './html.js';
import type { MessageAt } from './page-parts.js';
import { numberOf } from './units.js';

export interface Column<Row> {
  readonly label: string;
  /**
   * `header` names the row; a phone shows it first, with `beside` in the same line. A `number` is aligned
   * to the right.
   * @default 'text'
   */
  readonly kind?: 'header' | 'beside' | 'number' | 'text';
  /** The label on a phone; empty for a cell that needs none. */
  readonly phoneLabel?: string;
  /** A cell without content has nothing on a phone. */
  readonly cell: (row: Row) => HtmlValue;
}

export interface TableOptions<Row> {
  /** The id of a row, to which a link can lead, and under which its message is shown. */
  readonly idOf?: (row: Row) => string;
  readonly messageAt?: MessageAt | undefined;
}

/**
 * A table, which phones show as a list of rows. The explicit roles keep it a table for screen readers,
 * since browsers drop the implicit ones when CSS changes the layout.
 */
export function table<Row>(
  caption: HtmlValue,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { idOf, messageAt }: TableOptions<Row> = {},
): Html {
  const rowOf = (row: Row) => {
    const id = idOf?.(row);
    const message = id === undefined ? undefined : messageAt?.(id);
    return html`<tr role="row"${id !== undefined && html` id="${id}"`}>${columns.map(column => cellOf(column, row))}</tr>
${message !== undefined && html`<tr role="row" class="said"><td role="cell" colspan="${columns.length}">${message}</td></tr>`}`;
  };
  return html`<table role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ kind = 'text', label }) =>
      html`<th role="columnheader" scope="col" class="${kind}">${label}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map(rowOf)}</tbody>
</table>`;
}

function cellOf<Row>(
  { kind = 'text', label, phoneLabel = label, cell }: Column<Row>,
  row: Row,
): Html {
  const content = html`${cell(row)}`;
  const attributes = html` class="${kind}${content.text === '' && ' none'}"${phoneLabel !== '' && html` data-label="${phoneLabel}"`}`;
  return kind === 'header'
    ? html`<th role="rowheader" scope="row"${attributes}>${content}</th>`
    : html`<td role="cell"${attributes}>${content}</td>`;
}

export interface Paged<Row> {
  /** The rows of the requested page. */
  readonly rows: readonly Row[];
  /** ` , page 2` for the title of the page; empty on the first. */
  readonly suffix: string;
  /** Which rows these are, with links to the newer and the older ones; nothing if all are shown. */
  readonly pager: HtmlValue;
}

/** So many rows of any list fit three screens of a phone, and one wide screen. */
const PAGE_ROWS = 12;

/** The page of a long list, newest first, that the `page` parameter selects. */
export function paged<Row>(all: readonly Row[], url: URL, pageRows = PAGE_ROWS): Paged<Row> {
  const last = Math.max(1, Math.ceil(all.length / pageRows));
  const requested = Number(url.searchParams.get('page') ?? 1);
  const page = Number.isInteger(requested) ? Math.min(Math.max(requested, 1), last) : 1;
  const first = (page - 1) * pageRows;
  const rows = all.slice(first, first + pageRows);
  const link = (other: number, rel: string, text: string): Html =>
    html`<a class="button plain" rel="${rel}" href="${withParameters(url, { page: String(other) })}">${text}</a>`;
  return {
    rows,
    suffix: page === 1 ? '' : `, page ${page}`,
    pager:
      last > 1 &&
      html`<nav class="row" aria-label="Pages">${page > 1 && link(page - 1, 'prev', 'Newer')}${page < last && link(page + 1, 'next', 'Older')}
<span class="quiet">${numberOf(first + 1)} to ${numberOf(first + rows.length)} of ${numberOf(all.length)}</span></nav>`,
  };
}

/** The address of a page with other parameters; undefined leaves one out. */
export function withParameters(
  { pathname, searchParams }: URL,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams(searchParams);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  return query.size === 0 ? pathname : `${pathname}?${query}`;
}
