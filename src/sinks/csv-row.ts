import { stringify } from 'csv-stringify/sync';
import type { RowValue } from '../tables/column.js';

/** A row with the carriage return that ends it, before the line feed. */
export function csvRow(row: readonly RowValue[], escapesFormulas: boolean): string {
  const record = stringify([row], {
    // A null is empty, an empty text is quoted.
    quoted_match: /^$/,
    quote_record_delimiter: true,
    eof: false,
    escape_formulas: escapesFormulas,
    cast: {
      // A spreadsheet passes over a line feed, too. The library does so for the other characters.
      string: value => (escapesFormulas && value.startsWith('\n') ? `'${value}` : value),
      // `String` loses the sign of -0.
      number: value => (Object.is(value, -0) ? '-0' : String(value)),
      boolean: String,
      date: value => value.toISOString(),
      object: value => printList(value as unknown as readonly RowValue[]),
    },
  });
  return `${record}\r`;
}

/** JSON, with numbers of 64 bits in full. */
function printList(values: readonly RowValue[]): string {
  const elements = values.map(value =>
    typeof value === 'bigint' ? String(value) : JSON.stringify(value),
  );
  return `[${elements.join(',')}]`;
}
