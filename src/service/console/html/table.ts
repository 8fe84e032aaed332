import { type Html, type HtmlValue, html } from './html.js';
import { type MessageAt, printCount, printNumber } from './page-parts.js';

export interface HtmlColumn<Row> {
  readonly kind: 'header' | 'beside' | 'number' | 'text';
  readonly label: string;
  /** Renders a cell. A cell without content is not shown on a phone. */
  readonly cell: (row: Row) => HtmlValue;
  /** The label on a phone; empty for a cell that needs none. */
  readonly phoneLabel: string;
}

type Cell<Row> = HtmlColumn<Row>['cell'];

/**
 * Functions that create columns of a table. On a phone, each cell has a label, which is `phoneLabel` or else
 * the label of its column. Cells of `beside` have no label.
 */
export const column = {
  /** Returns a column that names the row. A phone shows it first. */
  header<Row>(label: string, cell: Cell<Row>): HtmlColumn<Row> {
    return { kind: 'header', label, cell, phoneLabel: label };
  },
  /** Returns a column that a phone shows without a label, on the same line as the `header` column. */
  beside<Row>(label: string, cell: Cell<Row>): HtmlColumn<Row> {
    return { kind: 'beside', label, cell, phoneLabel: '' };
  },
  number<Row>(label: string, cell: Cell<Row>, phoneLabel = label): HtmlColumn<Row> {
    return { kind: 'number', label, cell, phoneLabel };
  },
  text<Row>(label: string, cell: Cell<Row>, phoneLabel = label): HtmlColumn<Row> {
    return { kind: 'text', label, cell, phoneLabel };
  },
};

export interface HtmlTableOptions<Row> {
  /** Returns the id of a row. Links to the row use it, and `messageAt` finds the row's message by it. */
  readonly idOf?: (row: Row) => string;
  readonly messageAt?: MessageAt | undefined;
  /** Returns the details of a row. The page shows them below the row after a click on "Details". */
  readonly detailsOf?: (row: Row) => HtmlValue;
}

/**
 * Renders a table, which phones show as a list of rows. Explicit roles keep it a table for screen readers,
 * because browsers drop the implicit roles when CSS changes the layout. Each row has a separate `tbody` with
 * its message and details.
 */
export function table<Row>(
  caption: HtmlValue,
  columns: readonly HtmlColumn<Row>[],
  rows: readonly Row[],
  { idOf, messageAt, detailsOf }: HtmlTableOptions<Row> = {},
): Html {
  const rowOf = (row: Row) => {
    const id = idOf?.(row);
    const message = id === undefined ? undefined : messageAt?.(id);
    const details = detailsOf && html`${detailsOf(row)}`;
    const below = (content: Html) =>
      html`<tr role="row" class="said"><td role="cell" colspan="${columns.length}">${content}</td></tr>`;
    return html`<tbody role="rowgroup"><tr role="row"${id !== undefined && html` id="${id}"`}>${columns.map(one => cellOf(one, row))}</tr>
${message && below(message)}${details?.text && below(html`<details><summary>Details</summary><div class="stack">${details}</div></details>`)}</tbody>`;
  };
  return html`<table role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ kind, label }) => html`<th role="columnheader" scope="col" class="${kind}">${label}</th>`,
  )}</tr></thead>
${rows.map(rowOf)}
</table>`;
}

function cellOf<Row>({ kind, phoneLabel, cell }: HtmlColumn<Row>, row: Row): Html {
  const content = html`${cell(row)}`;
  const attributes = html` class="${kind}${content.text === '' && ' none'}"${phoneLabel !== '' && html` data-label="${phoneLabel}"`}`;
  return kind === 'header'
    ? html`<th role="rowheader" scope="row"${attributes}>${content}</th>`
    : html`<td role="cell"${attributes}>${content}</td>`;
}

export interface ListOptions<Row> extends HtmlTableOptions<Row>, PageOptions {
  readonly caption: HtmlValue;
  readonly columns: readonly HtmlColumn<Row>[];
}

/**
 * Renders one page of a long list, newest first, with links to newer and older pages. The result's `suffix`
 * is for the page title: `, page 2`, or empty on the first page.
 */
export function listPage<Row>(
  url: URL,
  all: readonly Row[],
  { caption, columns, ...options }: ListOptions<Row>,
) {
  const { suffix, first, end, pager } = rowsOfPage(url, all.length, options);
  const rows = all.slice(first, end);
  return { suffix, list: html`${table(caption, columns, rows, options)}${pager}` };
}

/**
 * Returns the range of rows on the current page of a list, as the first index and the exclusive end. Also
 * returns links to the other pages.
 */
export function rowsOfPage(
  url: URL,
  count: number,
  { pageRows = 12, parameter = 'page', words = ['Newer', 'Older'] }: PageOptions,
) {
  const last = Math.max(1, Math.ceil(count / pageRows));
  const requested = Number(url.searchParams.get(parameter) ?? 1);
  const page = Number.isInteger(requested) ? Math.min(Math.max(requested, 1), last) : 1;
  const first = (page - 1) * pageRows;
  const end = Math.min(first + pageRows, count);
  const to = (other: number) => withParameters(url, { [parameter]: String(other) });
  const pager =
    last > 1 &&
    pagerOf(`${printNumber(first + 1)} to ${printNumber(end)} of ${printNumber(count)}`, [
      page > 2 && ['first', 'First', to(1)],
      page > 1 && ['prev', words[0], to(page - 1)],
      page < last && ['next', words[1], to(page + 1)],
    ]);
  return { suffix: page === 1 ? '' : `, page ${page}`, first, end, pager };
}

type PageLink = readonly [rel: string, text: string, address: string];

export function pagerOf(position: string, links: readonly (PageLink | false)[]): Html {
  return html`<nav class="row" aria-label="Pages">${links.map(
    link => link && html`<a class="button plain" rel="${link[0]}" href="${link[2]}">${link[1]}</a>`,
  )}<span class="quiet">${position}</span></nav>`;
}

interface PageOptions {
  /** The number of rows on a page. The default is 12, which fit on three screens of a phone or one wide screen. */
  readonly pageRows?: number;
  /** The name of the query parameter that contains the page number. @default 'page' */
  readonly parameter?: string;
  readonly words?: readonly [before: string, after: string];
}

export function newestFirstCaption(all: readonly unknown[], one: string): string {
  return `${printCount(all.length, one)}, newest first`;
}

/** Returns the address of a page with changed parameters. A parameter that is `undefined` is removed. */
export function withParameters(
  { pathname, searchParams }: URL,
  changes: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  const query = new URLSearchParams(searchParams);
  for (const [name, value = []] of Object.entries(changes)) {
    const [first, ...others] = [value].flat();
    if (first === undefined) query.delete(name);
    else query.set(name, first);
    for (const other of others) query.append(name, other);
  }
  return query.size === 0 ? pathname : `${pathname}?${query}`;
}
