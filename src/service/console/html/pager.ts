import { type Html, type HtmlValue, html } from './html.js';
import { numberOf } from './units.js';

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
