import { DECODED, type DecodingUser, type StringDecoder } from '../../post/bytes/find-members.js';
import type { ColumnType, RowValue, ScalarType } from '../column.js';
import type { CellWriter } from '../from-bytes/cell-writer.js';
import { SCALARS, scalarOf } from './scalars.js';

/**
 * Rows that are stored as columns of bytes, so that they can be sent between threads. The columns are divided
 * into parts, so that several threads can encode one row group.
 */
export interface RowBlock {
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
}

export const PARTS = 4;

export function columnsOfPart<T>(columns: readonly T[], part: number): T[] {
  return columns.filter((_, index) => index % PARTS === part);
}

export interface BlockColumn {
  /** The number of values, not counting nulls. */
  readonly count: number;
  /** The total size of the values in bytes. The numbers that store the lengths of strings do not count. */
  readonly dataBytes: number;
  /**
   * The bytes of the column, in this order. The numbers before the data are little-endian and have 32 bits.
   * - the number of rows, the number of values, and the size of the data;
   * - a number for each row: 0 for null, otherwise 1 plus the number of values in the row;
   * - in columns of strings, the length of each string in bytes;
   * - the data: strings in UTF-8, or other values in the width of their type.
   */
  readonly bytes: Uint8Array;
}

export class RowBlockBuilder {
  rows = 0;
  readonly columns: readonly ColumnBuilder[];

  constructor(types: readonly ColumnType[]) {
    this.columns = types.map(type => new ColumnBuilder(type));
  }

  get bytes(): number {
    let bytes = 0;
    for (const column of this.columns) bytes += column.size;
    return bytes;
  }

  add(row: readonly RowValue[]): void {
    const { columns } = this;
    for (let index = 0; index < columns.length; index++) columns[index]!.add(row[index]!);
    this.rows++;
  }

  /** Discards all rows. Called after an error in the middle of a row. */
  clear(): void {
    for (const column of this.columns) column.clear();
    this.rows = 0;
  }

  /**
   * Returns the rows that were added since the last call, and removes them. Each part of the block has its
   * own memory.
   */
  take(): RowBlock {
    const { rows } = this;
    const parts = Array.from({ length: PARTS }, (_, part) => {
      const columns = columnsOfPart(this.columns, part);
      const bytes = new Uint8Array(columns.reduce((sum, { size }) => sum + size, 0));
      let at = 0;
      for (const column of columns) at = column.write(bytes, at);
      return bytes;
    });
    this.clear();
    return { rows, parts };
  }
}

/**
 * Uses the memory for decoded strings. `leave` is called before another user gets the memory. It has nothing
 * to copy, because `BlockCells` copies each decoded string immediately.
 */
const KEEPS_NOTHING: DecodingUser = { leave() {} };

export class BlockCells implements CellWriter {
  /** The block to which cells are added. May be replaced only between rows. */
  rows: RowBlockBuilder;
  readonly #strings: StringDecoder;
  #column: ColumnBuilder;

  constructor(rows: RowBlockBuilder, strings: StringDecoder) {
    this.rows = rows;
    this.#strings = strings;
    this.#column = rows.columns[0]!;
  }

  begin(column: number): void {
    this.#column = this.rows.columns[column]!;
    this.#column.begin(this.rows.rows);
  }

  none(): void {
    this.#column.add(null);
  }

  value(value: RowValue): void {
    this.#column.add(value);
  }

  int32(value: number): void {
    this.#column.addInt32(value);
  }

  boolean(value: boolean): void {
    this.#column.add(value);
  }

  time(ms: number): void {
    this.#column.addTime(ms);
  }

  text(from: number, to: number, entities: boolean, prefix = 0, prefixEnd = 0): boolean {
    const mode = entities ? DECODED.entities : DECODED.plain;
    if (!this.#addString(from, to, mode, prefix, prefixEnd)) return false;
    this.#column.endText();
    return true;
  }

  element(from: number, to: number): boolean {
    return this.#addString(from, to, DECODED.plain, 0, 0);
  }

  #addString(from: number, to: number, mode: number, prefix: number, prefixEnd: number): boolean {
    const decoded = this.#strings.memoryFor(KEEPS_NOTHING);
    const end = this.#strings.decode(from, to, 0, mode, prefix, prefixEnd);
    if (end === -1) return false;
    this.#column.addElement(decoded, 0, end);
    return true;
  }

  list(): void {
    this.#column.endList();
  }

  endRow(): void {
    this.rows.rows++;
  }

  undoRow(): void {
    for (const column of this.rows.columns) column.undo(this.rows.rows);
  }

  row(values: readonly RowValue[]): void {
    this.rows.add(values);
  }
}

export function readPart(types: readonly ColumnType[], part: Uint8Array): BlockColumn[] {
  const numbers = new DataView(part.buffer, part.byteOffset);
  let at = 0;
  return types.map(type => {
    const start = at;
    const [rows, count, dataBytes] = [0, 4, 8].map(from => numbers.getUint32(start + from, true));
    const lengths = SCALARS[scalarOf(type)].width === 0 ? count! : 0;
    const size = HEADER_BYTES + 4 * (rows! + lengths) + dataBytes!;
    at += aligned(size);
    return { count: count!, dataBytes: dataBytes!, bytes: part.subarray(start, start + size) };
  });
}

/**
 * The header of a column has three numbers: the number of rows, the number of values, and the size of the data.
 */
const HEADER_NUMBERS = 3;
const HEADER_BYTES = 4 * HEADER_NUMBERS;

function aligned(bytes: number): number {
  return (bytes + 7) & ~7;
}

const TWO_32 = 2 ** 32;
/** ASCII strings of at most this length are encoded in a loop, because calling an encoder takes longer. */
const MAX_LOOP = 48;

class ColumnBuilder {
  readonly #type: ScalarType;
  readonly #isList: boolean;
  #rows = 0;
  #counts = new Uint32Array(64);
  #count = 0;
  #lengths = new Uint32Array(0);
  #used = 0;
  /**
   * The last row that was started. `#begunCount` and `#begunUsed` are the values of `#count` and `#used`
   * before that row, so that `undo` can remove it.
   */
  #begunRow = -1;
  #begunCount = 0;
  #begunUsed = 0;
  #data!: Buffer;
  #int32!: Int32Array;
  #int64!: BigInt64Array;
  #double!: Float64Array;

  constructor(type: ColumnType) {
    this.#type = scalarOf(type);
    this.#isList = type !== this.#type;
    this.#setData(Buffer.allocUnsafeSlow(512));
  }

  get size(): number {
    const lengths = this.#type === 'string' ? this.#count : 0;
    return aligned(HEADER_BYTES + 4 * (this.#rows + lengths) + this.#used);
  }

  add(value: RowValue): void {
    if (value === null) {
      this.#endCell(0);
      return;
    }
    if (this.#isList) {
      const values = value as readonly RowValue[];
      for (let index = 0; index < values.length; index++) this.#addValue(values[index]!);
      this.#endCell(1 + values.length);
      return;
    }
    this.#addValue(value);
    this.#endCell(2);
  }

  clear(): void {
    this.#rows = 0;
    this.#count = 0;
    this.#used = 0;
    this.#begunRow = -1;
  }

  /** Starts the cell of a row. If the cell was already started, first discards it. */
  begin(row: number): void {
    if (this.#begunRow === row) this.undo(row);
    this.#begunRow = row;
    this.#begunCount = this.#count;
    this.#begunUsed = this.#used;
  }

  /** Discards the cell of a row, if the cell was started. */
  undo(row: number): void {
    if (this.#begunRow !== row) return;
    this.#rows = row;
    this.#count = this.#begunCount;
    this.#used = this.#begunUsed;
    this.#begunRow = -1;
  }

  addInt32(value: number): void {
    this.#reserve(4);
    this.#int32[this.#count++] = value;
    this.#used += 4;
    this.#endCell(2);
  }

  addTime(ms: number): void {
    this.#addTime(this.#count++, ms);
    this.#endCell(2);
  }

  addElement(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.#reserve(length);
    const data = this.#data;
    if (length <= MAX_LOOP)
      for (let from = start, to = this.#used; from < end; ) data[to++] = bytes[from++]!;
    else data.set(bytes.subarray(start, end), this.#used);
    this.#used += length;
    this.#endLength(length);
  }

  endText(): void {
    this.#endCell(2);
  }

  endList(): void {
    this.#endCell(1 + this.#count - this.#begunCount);
  }

  /** Returns the position after the written bytes. */
  write(bytes: Uint8Array, at: number): number {
    const numbers = new Uint32Array(bytes.buffer, at);
    numbers.set([this.#rows, this.#count, this.#used]);
    let next = HEADER_NUMBERS;
    numbers.set(this.#counts.subarray(0, this.#rows), next);
    next += this.#rows;
    if (this.#type === 'string') {
      numbers.set(this.#lengths.subarray(0, this.#count), next);
      next += this.#count;
    }
    bytes.set(this.#data.subarray(0, this.#used), at + 4 * next);
    return at + this.size;
  }

  #endCell(count: number): void {
    if (this.#rows === this.#counts.length) this.#counts = doubled(this.#counts);
    this.#counts[this.#rows++] = count;
  }

  #addTime(index: number, ms: number): void {
    this.#reserve(8);
    this.#int32[2 * index] = ms | 0;
    this.#int32[2 * index + 1] = Math.floor(ms / TWO_32);
    this.#used += 8;
  }

  #endLength(length: number): void {
    if (this.#count === this.#lengths.length) this.#lengths = doubled(this.#lengths);
    this.#lengths[this.#count++] = length;
  }

  #addValue(value: RowValue): void {
    if (this.#type === 'string') {
      this.#addText(value as string);
      return;
    }
    const index = this.#count++;
    switch (this.#type) {
      case 'int32':
        this.#reserve(4);
        this.#int32[index] = value as number;
        this.#used += 4;
        return;
      case 'boolean':
        this.#reserve(1);
        this.#data[this.#used++] = value === true ? 1 : 0;
        return;
      case 'double':
        this.#reserve(8);
        this.#double[index] = value as number;
        break;
      case 'int64':
        this.#reserve(8);
        this.#int64[index] = value as bigint;
        break;
      case 'timestamp':
        this.#addTime(index, (value as Date).getTime());
        return;
    }
    this.#used += 8;
  }

  #addText(text: string): void {
    const { length } = text;
    this.#reserve(3 * length);
    const data = this.#data;
    const start = this.#used;
    let at = start;
    let done = length <= MAX_LOOP;
    if (done)
      for (let char = 0; char < length; char++) {
        const code = text.charCodeAt(char);
        if (code >= 0x80) {
          done = false;
          break;
        }
        data[at++] = code;
      }
    if (!done) at = start + data.write(text, start, 'utf8');
    this.#used = at;
    this.#endLength(at - start);
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed <= this.#data.length) return;
    const grown = Buffer.allocUnsafeSlow(aligned(Math.max(needed, 2 * this.#data.length)));
    this.#data.copy(grown, 0, 0, this.#used);
    this.#setData(grown);
  }

  #setData(data: Buffer): void {
    this.#data = data;
    this.#int32 = new Int32Array(data.buffer);
    this.#int64 = new BigInt64Array(data.buffer);
    this.#double = new Float64Array(data.buffer);
  }
}

function doubled(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(2 * numbers.length + 64);
  grown.set(numbers);
  return grown;
}
