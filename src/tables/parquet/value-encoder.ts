import { DataError } from '../../base/errors.js';
import type { ColumnType, ScalarType } from '../column.js';
import { ENCODE_VALUES } from './encode-values-wasm.js';
import type { BlockColumn } from './row-block.js';
import { SCALARS, scalarOf } from './scalars.js';

/** The encoded rows of a page. They are valid until the next page is encoded. */
export interface EncodedPage {
  readonly rows: number;
  /** The number of values, including nulls. An empty list counts as one value. */
  readonly levels: number;
  readonly nulls: number;
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
  readonly values: Uint8Array;
}

/** The distinct values of a column in the encoding PLAIN. They are valid until the first page is encoded. */
export interface EncodedDictionary {
  readonly count: number;
  readonly values: Uint8Array;
}

/** The smallest and the largest value of a column. Strings are truncated after 65 bytes. */
export interface EncodedBounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** The exports of the WebAssembly module `encode-values.as`. */
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

/** `WebAssembly` is declared here, because the types of Node do not contain it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the WebAssembly module.
const SNAPPY_TABLE = 1024;
const SAMPLE_TABLE = 34 * 1024;
const MINIMUM = 42 * 1024;
const MAXIMUM = MINIMUM + 96;
const FREE = 64 * 1024;
const MEMORY_PAGE = 64 * 1024;
/** The space after each area of memory, because a copy may write beyond the end of an area. */
const MARGIN = 64;

/** `encode-values.as` has the same constants. They must be equal to these. */
const PAGE_BYTES = 1 << 20;
const ENTRY_BYTES = 12;
const LENGTH_BYTES = 4;

const SAMPLE = 1_000;
/**
 * If the distinct values of a sample take more than this fraction of the sample's bytes, no dictionary is
 * tried.
 */
const MAX_SAMPLE_RATIO = 0.9;
/**
 * The maximum size of a dictionary in bytes, and its maximum number of values. They are limited, because
 * readers hold a whole dictionary in memory.
 */
const MAX_DICTIONARY_BYTES = 16 * 1024 * 1024;
const MAX_DICTIONARY_VALUES = 1 << 24;

/**
 * Encodes the values of Parquet columns, one column after the other, in WebAssembly. If this were JavaScript,
 * V8 would have to compile the code in each thread of each run. Copies one block of rows at a time into the
 * memory of the module, so that this memory does not have to hold all values of a column.
 */
export class ValueEncoder {
  readonly #exports: Exports;
  #bytes: Buffer;
  #blocks: readonly BlockColumn[] = [];
  #scalar: ScalarType = 'string';
  #isList = false;
  #count = 0;
  #largest = 0;
  /** The width of an index into the dictionary, in bits; `undefined` if there is no dictionary. */
  #indexBits: number | undefined;
  /**
   * The position at which the memory for pages starts, after the dictionary, and the position at which the
   * memory for compressed pages starts.
   */
  #free = FREE;
  #compressed = FREE;

  constructor() {
    const module = new WebAssembly.Module(Buffer.from(ENCODE_VALUES, 'base64'));
    this.#exports = new WebAssembly.Instance(module).exports as Exports;
    this.#bytes = Buffer.from(this.#exports.memory.buffer);
  }

  /** Starts a column. `blocks` has the part of the column in each `RowBlock`. */
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
   * Returns the dictionary of the column. Returns `undefined` unless the dictionary and the indices together
   * take at most half as much space as the values.
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
    // A slot of the hash table takes 4 bytes. The table doubles when more than half of its slots are in use,
    // so a large table has at most 4 slots for each value.
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
    // The pages overwrite the entries and the hash table of the dictionary, but not the indices.
    this.#free = entries;
    return { count: different, values };
  }

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
   * Returns the bounds of a column whose type is not a list. Returns `undefined` if the column has no value.
   * Must be called after `pages`.
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

  /**
   * Compresses a page or a dictionary in the raw Snappy format. The result is valid until the next page is
   * encoded.
   */
  snappy({ byteOffset, length }: Uint8Array): Uint8Array {
    const to = this.#compressed;
    const end = this.#exports.snappy(byteOffset, length, to, SNAPPY_TABLE) >>> 0;
    return this.#bytes.subarray(to, end);
  }

  /**
   * Returns whether most values in a sample of the column are different: the distinct values take more than
   * `MAX_SAMPLE_RATIO` of the sample's bytes.
   */
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
   * Grows the memory of the module up to an address. This is cheap, because the system allocates only memory
   * pages that are written.
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

/** Returns the maximum size of the result of compressing this many bytes. */
function compressedBytes(length: number): number {
  return 32 + length + Math.ceil(length / 6);
}
