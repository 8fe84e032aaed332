import { DAY } from '../../base/time.js';
import { type EncoderKind, JoinedBytes } from '../../files/encode-rows.js';
import {
  CLOSE_ARRAY,
  COLON,
  COMMA,
  CR,
  isTextAt,
  LF,
  OPEN_ARRAY,
  QUOTE,
} from '../../json/byte-codes.js';
import { DECODED, type DecodingUser, type StringDecoder } from '../../post/bytes/find-members.js';
import { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import type { RowValue } from '../column.js';
import type { CellWriter } from '../from-bytes/cell-writer.js';
import { postRowReader, postRowWriter } from '../from-bytes/post-rows.js';
import type { PostColumnName } from '../post-columns.js';
import type { InvalidValues } from '../table-options.js';
import { csvField, csvRow, EMPTY, printTime } from './csv-row.js';

/**
 * When the rows in the decoding buffer take more than this many bytes, they are copied out of it. The rest of
 * the buffer is reserved for a single long row.
 */
const BLOCK_BYTES = 128 * 1024;
/** The maximum number of bytes of CSV for each byte of a JSON string, or for each character of a field. */
const MAX_GROWTH = 3;
const [DASH, DOT, LETTER_T, LETTER_Z] = [0x2d, 0x2e, 0x54, 0x5a];
/** Dates from the year 10000 on are written by `printTime`, because their years have five digits or more. */
const YEAR_10000 = Date.UTC(10_000);

/** Before PostgreSQL 18, a line with only this text ends a `COPY`. */
const END_OF_COPY = Buffer.from('\\.');

/** The number of bytes to reserve for the characters around a string: quotes, commas and line ends. */
const MARGIN = 64;

/** Writes rows of CSV exactly as `csvRow` does, with their line feeds. */
export class CsvCells implements CellWriter, DecodingUser {
  readonly #strings: StringDecoder;
  readonly #decode: StringDecoder['decode'];
  readonly #memory: Buffer;
  readonly #size: number;
  readonly #escapesFormulas: boolean;
  /** A cache for lists that occur in several rows: the encoded CSV field of each list object. */
  readonly #lists = new WeakMap<object, string>();
  readonly #blocks = new JoinedBytes();
  #at = 0;
  #row = 0;
  #cell = 0;
  #column = -1;
  #elements = 0;

  constructor(strings: StringDecoder, escapesFormulas: boolean) {
    this.#strings = strings;
    this.#decode = strings.decode;
    this.#memory = strings.memoryFor(this);
    this.#size = strings.size;
    this.#escapesFormulas = escapesFormulas;
  }

  begin(column: number): void {
    this.#elements = 0;
    if (column === this.#column) {
      this.#at = this.#cell;
      return;
    }
    if (this.#column === -1) this.#strings.memoryFor(this);
    else this.#memory[this.#at++] = COMMA;
    this.#column = column;
    this.#cell = this.#at;
  }

  none(): void {}

  value(value: RowValue): void {
    if (value === null) return;
    if (typeof value === 'object' && Object.isFrozen(value)) {
      let field = this.#lists.get(value);
      if (field === undefined) {
        field = csvField(value, this.#escapesFormulas);
        this.#lists.set(value, field);
      }
      this.#write(field);
    } else this.#write(csvField(value, this.#escapesFormulas));
  }

  /** @param value A non-negative number. */
  int32(value: number): void {
    let end = this.#at + 1;
    for (let rest = value; rest >= 10; rest = (rest / 10) | 0) end++;
    this.#at = end;
    for (let rest = value; ; rest = (rest / 10) | 0) {
      this.#memory[--end] = 0x30 + (rest % 10);
      if (rest < 10) return;
    }
  }

  boolean(value: boolean): void {
    this.#write(value ? 'true' : 'false');
  }

  time(ms: number): void {
    if (ms < 0 || ms >= YEAR_10000) {
      this.#write(printTime(ms));
      return;
    }
    const days = Math.floor(ms / DAY);
    const ofDay = ms - days * DAY;
    // Here, each year starts on 1 March. A leap day is then the last day of its year.
    const shifted = days + 719_468;
    const era = (shifted / 146_097) | 0;
    const ofEra = shifted - era * 146_097;
    const years =
      ((ofEra - ((ofEra / 1_460) | 0) + ((ofEra / 36_524) | 0) - ((ofEra / 146_096) | 0)) / 365) |
      0;
    const ofYear = ofEra - (365 * years + ((years / 4) | 0) - ((years / 100) | 0));
    const month = ((5 * ofYear + 2) / 153) | 0;
    this.#digits(years + era * 400 + (month > 9 ? 1 : 0), 4, DASH);
    this.#digits(month > 9 ? month - 9 : month + 3, 2, DASH);
    this.#digits(ofYear - (((153 * month + 2) / 5) | 0) + 1, 2, LETTER_T);
    const seconds = (ofDay / 1000) | 0;
    this.#digits((seconds / 3600) | 0, 2, COLON);
    this.#digits(((seconds / 60) | 0) % 60, 2, COLON);
    this.#digits(seconds % 60, 2, DOT);
    this.#digits(ofDay % 1000, 3, LETTER_Z);
  }

  #digits(value: number, count: number, character: number): void {
    const end = this.#at + count;
    for (let at = end - 1, rest = value; at >= this.#at; at--, rest = (rest / 10) | 0)
      this.#memory[at] = 0x30 + (rest % 10);
    this.#memory[end] = character;
    this.#at = end + 1;
  }

  text(from: number, to: number, entities: boolean, prefix = 0, prefixEnd = 0): boolean {
    // If formulas are escaped, each string must be checked, so the column's `value` function is called
    // instead.
    if (this.#escapesFormulas || !this.#fits(to - from + prefixEnd - prefix)) return false;
    const mode = DECODED.field | (entities ? DECODED.entities : DECODED.plain);
    const end = this.#decode(from, to, this.#at, mode, prefix, prefixEnd);
    if (end === -1) return false;
    if (isTextAt(this.#memory, END_OF_COPY, this.#at) && end === this.#at + END_OF_COPY.length)
      this.value(END_OF_COPY.toString());
    else this.#at = end;
    return true;
  }

  element(from: number, to: number): boolean {
    if (!this.#fits(to - from)) return false;
    this.#memory[this.#at++] = this.#elements === 0 ? QUOTE : COMMA;
    if (this.#elements++ === 0) this.#memory[this.#at++] = OPEN_ARRAY;
    const end = this.#decode(from, to, this.#at, DECODED.element, 0, 0);
    if (end === -1) return false;
    this.#at = end;
    return true;
  }

  list(): void {
    if (this.#elements === 0) this.#memory[this.#at++] = OPEN_ARRAY;
    this.#memory[this.#at++] = CLOSE_ARRAY;
    if (this.#elements > 0) this.#memory[this.#at++] = QUOTE;
  }

  endRow(): void {
    // If the row has a single column without a value, it must not become a blank line.
    if (this.#at === this.#row) this.#write(EMPTY);
    this.#memory[this.#at++] = CR;
    this.#memory[this.#at++] = LF;
    this.#row = this.#at;
    this.#column = -1;
    if (this.#at > BLOCK_BYTES) this.#endBlock();
  }

  undoRow(): void {
    this.#at = this.#row;
    this.#column = -1;
  }

  row(values: readonly RowValue[]): void {
    this.#endBlock();
    this.#blocks.add(Buffer.from(`${csvRow(values, this.#escapesFormulas)}\n`));
  }

  get byteLength(): number {
    return this.#blocks.byteLength + this.#row;
  }

  take(): Buffer {
    this.#endBlock();
    return this.#blocks.take();
  }

  takeText(): string {
    if (this.#blocks.byteLength > 0) return this.take().toString();
    const text = this.#memory.toString('utf8', 0, this.#row);
    this.clear();
    return text;
  }

  leave(): void {
    this.#endBlock();
  }

  clear(): void {
    this.#blocks.take();
    this.#row = 0;
    this.undoRow();
  }

  #endBlock(): void {
    if (this.#row > 0) this.#blocks.add(Buffer.from(this.#memory.subarray(0, this.#row)));
    this.#row = 0;
    this.undoRow();
  }

  /** @throws RangeError if the memory has no space for the field. */
  #write(field: string): void {
    if (!this.#fits(field.length)) throw new RangeError('The row is too long');
    const { length } = field;
    let at = this.#at;
    for (let char = 0; char < length; char++) {
      const code = field.charCodeAt(char);
      if (code >= 0x80) {
        this.#at += this.#memory.write(field, this.#at, 'utf8');
        return;
      }
      this.#memory[at++] = code;
    }
    this.#at = at;
  }

  #fits(bytes: number): boolean {
    return this.#at + MAX_GROWTH * bytes + MARGIN < this.#size;
  }
}

export interface CsvRowsOptions {
  readonly columns: readonly PostColumnName[];
  readonly invalidValues: InvalidValues;
  readonly escapesFormulas: boolean;
}

export const CSV_ROWS: EncoderKind<CsvRowsOptions> = {
  name: 'csv',
  hasTasks: false,
  create: ({ columns, invalidValues, escapesFormulas }) => {
    const post = PostInBytes.ofThread();
    if (post !== undefined) {
      const out = new CsvCells(post.strings, escapesFormulas);
      const write = postRowWriter('csv', columns, invalidValues, { post, out });
      return each => {
        out.clear();
        each(write);
        return out.take();
      };
    }
    const read = postRowReader('csv', columns, invalidValues);
    return each => {
      let text = '';
      each((...row) => {
        text += `${csvRow(read(...row), escapesFormulas)}\n`;
      });
      return Buffer.from(text);
    };
  },
};
