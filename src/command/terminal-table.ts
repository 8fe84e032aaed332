import stringWidth from 'string-width';
import { isRecord } from '../base/record.js';

const BETWEEN = '  ';

export function terminalText(result: unknown): string {
  if (Array.isArray(result)) return tableText(result);
  return isRecord(result) ? fieldsText(result) : `${String(result)}\n`;
}

/**
 * Formats a list as a table.
 *
 * @param columns The members to show. By default, all members that have a value in any row. Columns without
 *   any value are omitted.
 */
export function tableText(rows: readonly unknown[], columns?: readonly string[]): string {
  const records = rows.map(row => (isRecord(row) ? flat(row) : { value: row }));
  if (records.length === 0) return 'None\n';
  const names = columns ?? [...new Set(records.flatMap(Object.keys))];
  const shown = names.filter(name => records.some(row => cell(row[name]) !== ''));
  return aligned([shown, ...records.map(row => shown.map(name => cell(row[name])))]);
}

function fieldsText(record: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(flat(record)).map(([name, value]) => [name, cell(value)]);
  return aligned(fields.filter(([, text]) => text !== ''));
}

/**
 * Flattens nested objects by one level: the member `expiresAt` of the member `quote` becomes
 * `quote.expiresAt`.
 */
function flat(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      isRecord(value) && !(value instanceof Date)
        ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one])
        : [[name, value]],
    ),
  );
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  // Replaces control characters in a value, because they could move the terminal's cursor.
  return text.replaceAll(/\p{Cc}/gu, ' ');
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map(row => stringWidth(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    row.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - stringWidth(text)));
  return rows.map(row => `${line(row).join(BETWEEN).trimEnd()}\n`).join('');
}
