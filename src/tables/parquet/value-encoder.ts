import { DataError } from '../../base/errors.js';
import type { ColumnType, ScalarType } from '../column.js';
import { ENCODE_VALUES } from './encode-values-wasm.js';
import type { BlockColumn } from './row-block.js';
import { SCALARS, scalarOf } from './scalars.js';

/** The encoded rows of a page. Valid until the next page. */
export interface EncodedPage {
  readonly rows: number;
  /** The number of values, including nulls. An empty list counts as one. */
  readonly levels: number;
  readonly nulls: number;
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
  readonly values: Uint8Array;
}

/** The distinct values of a column, in the encoding PLAIN. Valid until the first page. */
export interface EncodedDictionary {
  readonly count: number;
  readonly values: Uint8Array;
}

/** The smallest and the largest value of a column. Strings are cut after 65 bytes. */
export interface EncodedBounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** The exports of `encode-values.as`. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  beginColumn(kind: number, width: number, isList: number): void;
  openBlock(at: number): void;
  beginSample(table: number, size: number, count: number): void;
  sampleBlock(): void;
  beginDictionary(entries: number, slots: number, indexes: number, plain: number): void;
  addBlock(maxBytes: number): number;
  boundBlock(place: number): void;
  boundDictionary(place: number): void;
  beginPages(
    values: number,
    definitions: number,
    repetitions: number,
    runs: number,
    indexBits: number,
  ): void;
  fillPage(): number;
  endPage(): void;
  nextPage(): void;
  snappy(from: number, length: number, to: number, table: number): number;
  readonly sampleBytes: Global;
  readonly differentBytes: Global;
  readonly entryCount: Global;
  readonly plainBytes: Global;
  readonly minimumLength: Global;
  readonly maximumLength: Global;
  readonly pageRows: Global;
  readonly pageLevels: Global;
  readonly pageNulls: Global;
  readonly repetitionBytes: Global;
  readonly definitionBytes: Global;
  readonly valueBytes: Global;
}

interface Global {
  readonly value: number;
}

/** Declared here, because Node's types do not contain it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the module.
const SNAPPY_TABLE = 1024;
const SAMPLE_TABLE = 34 * 1024;
const MINIMUM = 42 * 1024;
const MAXIMUM = MINIMUM + 96;
const FREE = 64 * 1024;
const MEMORY_PAGE = 64 * 1024;
/** Space after each area, because copies write beyond its end. */
const MARGIN = 64;

/** Must be equal to the constant in `encode-values.as`. */
const PAGE_BYTES = 1 << 20;
const ENTRY_BYTES = 12;
const LENGTH_BYTES = 4;

const SAMPLE = 1_000;
/** If the distinct values of a sample have more than this part of its bytes, a dictionary is not tried. */
const MAX_SAMPLE_RATIO = 0.9;
/** The maximum size of a dictionary in bytes, because readers hold a whole dictionary in memory. */
const MAX_DICTIONARY_BYTES = 16 * 1024 * 1024;
const MAX_DICTIONARY_VALUES = 1 << 24;

/**
 * Encodes the values of columns, one column after the other, by WebAssembly. With JavaScript, V8 would have
 * to compile the code in each thread of each run. Reads one block at a time, so that only a block, a page and
 * a dictionary are in memory.
 */
export class ValueEncoder {
  readonly #exports: Exports;
  #bytes: Buffer;
  #blocks: readonly BlockColumn[] = [];
  #scalar: ScalarType = 'string';
  #isList = false;
  #count = 0;
  #largest = 0;
  /** The width of the dictionary indexes, in bits. */
  #indexBits: number | undefined;
  /** The address of the memory that the dictionary leaves free for pages, and the address for compressed pages. */
  #free = FREE;
  #compressed = FREE;

  constructor() {
    const module = new WebAssembly.Module(Buffer.from(ENCODE_VALUES, 'base64'));
    this.#exports = new WebAssembly.Instance(module).exports as Exports;
    this.#bytes = Buffer.from(this.#exports.memory.buffer);
  }

  /** Starts a column. `blocks` has its parts in successive blocks. */
  begin(type: ColumnType, blocks: readonly BlockColumn[]): void {
    this.#blocks = blocks;
    this.#scalar = scalarOf(type);
    this.#isList = this.#scalar !== type;
    this.#count = blocks.reduce((sum, { count }) => sum + count, 0);
    this.#largest = blocks.reduce((most, { bytes }) => Math.max(most, bytes.length), 0);
    this.#indexBits = undefined;
    this.#free = FREE + this.#largest + MARGIN;
    const { kind, width } = SCALARS[this.#scalar];
    this.#exports.beginColumn(kind, width, this.#isList ? 1 : 0);
  }

  /**
   * Returns the dictionary of the column, or `undefined` unless the dictionary and the indexes take
   * at most half of the size of the values.
   */
  dictionary(): EncodedDictionary | undefined {
    const count = this.#count;
    const dataBytes = this.#blocks.reduce((sum, block) => sum + block.dataBytes, 0);
    const plainBytes = dataBytes + (this.#scalar === 'string' ? LENGTH_BYTES * count : 0);
    if (this.#scalar === 'boolean' || count === 0 || count > MAX_DICTIONARY_VALUES)
      return undefined;
    if (this.#differs()) return undefined;
    const exports = this.#exports;
    const maxBytes = Math.min(Math.floor(plainBytes / 2), MAX_DICTIONARY_BYTES);
    const indexes = this.#free;
    const entries = indexes + 4 * count + MARGIN;
    // The hash table is doubled if more than half of it is used.
    const slots = entries + ENTRY_BYTES * count + MARGIN;
    const plain = slots + Math.max(1024, 16 * count) + MARGIN;
    const end = plain + maxBytes + this.#largest + MARGIN;
    this.#reserve(end + compressedBytes(end - plain));
    exports.beginDictionary(entries, slots, indexes, plain);
    for (const block of this.#blocks) {
      this.#open(block);
      if (exports.addBlock(maxBytes) === 0) return undefined;
    }
    const different = exports.entryCount.value;
    const indexBits = 32 - Math.clz32(different - 1);
    if (2 * (exports.plainBytes.value + (count * indexBits) / 8) > plainBytes) return undefined;
    exports.boundDictionary(MINIMUM);
    this.#indexBits = indexBits;
    const values = this.#bytes.subarray(plain, plain + exports.plainBytes.value);
    this.#compressed = plain + values.length + MARGIN;
    // Pages overwrite the entries of the hash table, but not the indexes.
    this.#free = entries;
    return { count: different, values };
  }

  /** Encodes the rows of all blocks as pages. */
  pages(each: (page: EncodedPage) => void): void {
    const exports = this.#exports;
    const mostValues = this.#blocks.reduce((most, { count }) => Math.max(most, count), 0);
    const levels = PAGE_BYTES + mostValues;
    const values = this.#free;
    const definitions = values + 3 * PAGE_BYTES + 2 * this.#largest + MARGIN;
    const repetitions = definitions + 4 * levels + MARGIN;
    const runs = repetitions + (this.#isList ? 4 * levels : 0) + MARGIN;
    this.#compressed = runs + 4 * levels + MARGIN;
    this.#reserve(this.#compressed + compressedBytes(definitions - values));
    exports.beginPages(values, definitions, repetitions, runs, this.#indexBits ?? -1);
    const end = () => {
      exports.endPage();
      const definition = runs + exports.repetitionBytes.value;
      each({
        rows: exports.pageRows.value,
        levels: exports.pageLevels.value,
        nulls: exports.pageNulls.value,
        repetition: this.#bytes.subarray(runs, definition),
        definition: this.#bytes.subarray(definition, definition + exports.definitionBytes.value),
        values: this.#bytes.subarray(values, values + exports.valueBytes.value),
      });
      exports.nextPage();
    };
    for (const block of this.#blocks) {
      this.#open(block);
      if (this.#indexBits === undefined && !this.#isList) exports.boundBlock(MINIMUM);
      while (exports.fillPage() === 1) end();
    }
    if (exports.pageRows.value > 0) end();
  }

  /**
   * Returns the bounds of a column without lists, or `undefined` if the column has no value. Call
   * it after `pages`.
   */
  bounds(): EncodedBounds | undefined {
    if (this.#count === 0) return undefined;
    const { minimumLength, maximumLength } = this.#exports;
    const bound = (at: number, textLength: Global) => {
      const length = this.#scalar === 'string' ? textLength.value : SCALARS[this.#scalar].width;
      return Uint8Array.from(this.#bytes.subarray(at, at + length));
    };
    return { min: bound(MINIMUM, minimumLength), max: bound(MAXIMUM, maximumLength) };
  }

  /** Compresses a page or a dictionary in the raw Snappy format. The result is valid until the next page. */
  snappy({ byteOffset, length }: Uint8Array): Uint8Array {
    const to = this.#compressed;
    const end = this.#exports.snappy(byteOffset, length, to, SNAPPY_TABLE) >>> 0;
    return this.#bytes.subarray(to, end);
  }

  /** Whether most values in a sample of the column are distinct. */
  #differs(): boolean {
    const exports = this.#exports;
    this.#reserve(this.#free);
    exports.beginSample(SAMPLE_TABLE, Math.min(this.#count, SAMPLE), this.#count);
    for (const block of this.#blocks) {
      this.#open(block);
      exports.sampleBlock();
    }
    return exports.differentBytes.value > MAX_SAMPLE_RATIO * exports.sampleBytes.value;
  }

  #open({ bytes }: BlockColumn): void {
    this.#bytes.set(bytes, FREE);
    this.#exports.openBlock(FREE);
  }

  /**
   * Grows the memory of the module up to an address. The system allocates only pages that are written.
   *
   * @throws DataError if memory runs out.
   */
  #reserve(end: number): void {
    const { memory } = this.#exports;
    const missing = end + MARGIN - memory.buffer.byteLength;
    if (missing <= 0) return;
    try {
      memory.grow(Math.ceil(missing / MEMORY_PAGE));
    } catch (cause) {
      const mebibytes = Math.ceil((end + MARGIN) / 2 ** 20);
      throw new DataError(
        `Encoding a column of a row group needs ${mebibytes} MiB of memory, which this process does not get. Choose a smaller \`rowGroup\``,
        { cause },
      );
    }
    this.#bytes = Buffer.from(memory.buffer);
  }
}

/** The maximum size of compressed bytes. */
function compressedBytes(length: number): number {
  return 32 + length + Math.ceil(length / 6);
}
