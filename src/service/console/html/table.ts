import { type Html, type HtmlValue, html } from './html.js';
import type { MessageAt } from './message.js';

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
