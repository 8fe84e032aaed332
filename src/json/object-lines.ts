import { CR, LF } from './byte-codes.js';
import { FRAME_OBJECTS } from './frame-objects-wasm.js';

/** The bytes between two records. */
export type Separator = '\n' | '\r\n';

interface Limits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/** The exports of the WebAssembly module that `frame-objects.as` defines. */
interface Framer {
  readonly memory: { readonly buffer: ArrayBuffer };
  frameObjects(from: number, end: number, list: number, listEnd: number, separator: number): number;
}

/** Declared here because Node's types do not contain it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the module. They are the same as in `frame-objects.as`.
const NEXT = 1016;
const IS_CUT = 1020;
const LIST = 1024;
const LIST_END = 64 * 1024;
const DOCUMENT = 64 * 1024;
/**
 * The maximum number of bytes that are copied into the WebAssembly module for one call. After a call that
 * finds no record, only `SMALL_BLOCK` bytes are copied, and then more with each call that finds records.
 * Otherwise, each line that the module cannot read would cost the copy of a large block.
 */
const LARGE_BLOCK = 128 * 1024;
const SMALL_BLOCK = 1024;
/**
 * The maximum depth that the module can read. `check-object.ts` reads records that are nested more deeply.
 */
const MAX_DEPTH = 63;

class Module {
  readonly frameObjects: Framer['frameObjects'];
  readonly bytes: Buffer;
  readonly numbers: Uint32Array;

  constructor() {
    const module = new WebAssembly.Module(Buffer.from(FRAME_OBJECTS, 'base64'));
    const framer = new WebAssembly.Instance(module).exports as Framer;
    this.frameObjects = framer.frameObjects;
    this.bytes = Buffer.from(framer.memory.buffer);
    this.numbers = new Uint32Array(framer.memory.buffer);
  }
}

/**
 * The WebAssembly module, which all files of this thread share. `null` before the first use. `undefined` if
 * its memory cannot be allocated. In that case, `check-object.ts` reads all records.
 */
let module: Module | undefined | null = null;

function moduleOfThread(): Module | undefined {
  if (module === null)
    try {
      module = new Module();
    } catch {
      module = undefined;
    }
  return module;
}

/**
 * Finds lines that are exactly one JSON object. Uses WebAssembly, which reads 64 bytes at a time. Accepts
 * only what `JSON.parse` accepts. The caller must read all other lines. These include some valid records:
 * records that exceed a limit, are longer than 128 KiB, are nested deeper than 63 levels or have white space
 * around them. They also include a last record without a line end.
 */
export class ObjectLines {
  /**
   * An object that is never freed. V8 discards the optimised code of a class if no object of the class is
   * left, for example between two files.
   */
  static readonly staying: unknown = new ObjectLines('\n', { maxBytes: 0, maxDepth: 0 });
  /** The position at which the last call of `find` stopped. The caller continues to read there. */
  next = 0;
  readonly #separator: number;
  readonly #maxBytes: number;
  readonly #isLimited: boolean;
  readonly #module: Module | undefined;
  /**
   * Added to the address of a byte in the module's memory, this gives the position of the byte in `bytes`.
   */
  #offset = 0;
  #pieceBytes = LARGE_BLOCK;

  constructor(separator: Separator, { maxBytes, maxDepth }: Limits) {
    this.#separator = separator === '\n' ? LF : CR;
    this.#maxBytes = maxBytes;
    this.#isLimited = maxBytes < LARGE_BLOCK;
    this.#module = maxDepth < MAX_DEPTH ? undefined : moduleOfThread();
  }

  /**
   * Finds records between `from`, which must be the start of a line, and `to`. Returns how many were found.
   * Until the next call, `startOf(i)` and `endOf(i)` return the positions of record `i` in `bytes`.
   */
  find(bytes: Buffer, from: number, to: number): number {
    this.next = from;
    if (this.#module === undefined || from >= to) return 0;
    let count = this.#findInPiece(this.#module, bytes, from, to);
    if (count === 0 && this.#module.numbers[IS_CUT / 4] === 1 && this.#pieceBytes < LARGE_BLOCK) {
      this.#pieceBytes = LARGE_BLOCK;
      count = this.#findInPiece(this.#module, bytes, from, to);
    }
    this.#pieceBytes = count === 0 ? SMALL_BLOCK : Math.min(LARGE_BLOCK, 4 * this.#pieceBytes);
    if (this.#isLimited)
      for (let index = 0; index < count; index++)
        if (this.endOf(index) - this.startOf(index) > this.#maxBytes) {
          this.next = this.startOf(index);
          return index;
        }
    return count;
  }

  startOf(index: number): number {
    return this.#module!.numbers[LIST / 4 + 2 * index]! + this.#offset;
  }

  endOf(index: number): number {
    return this.#module!.numbers[LIST / 4 + 2 * index + 1]! + this.#offset;
  }

  #findInPiece(module: Module, bytes: Buffer, from: number, to: number): number {
    const end = Math.min(to, from + this.#pieceBytes);
    const length = bytes.copy(module.bytes, DOCUMENT, from, end);
    this.#offset = from - DOCUMENT;
    const listEnd = module.frameObjects(
      DOCUMENT,
      DOCUMENT + length,
      LIST,
      LIST_END,
      this.#separator,
    );
    this.next = module.numbers[NEXT / 4]! + this.#offset;
    return (listEnd - LIST) / 8;
  }
}

/**
 * Whether WebAssembly has proven that the bytes are exactly one JSON object, without white space around it.
 * If false, the bytes may still be such an object.
 */
export function isProvenObject(json: Buffer, maxDepth: number): boolean {
  const { length } = json;
  const module = maxDepth < MAX_DEPTH || length >= LARGE_BLOCK ? undefined : moduleOfThread();
  if (module === undefined) return false;
  json.copy(module.bytes, DOCUMENT);
  module.bytes[DOCUMENT + length] = LF;
  const end = DOCUMENT + length + 1;
  const listEnd = module.frameObjects(DOCUMENT, end, LIST, LIST + 8, LF);
  return listEnd > LIST && module.numbers[LIST / 4 + 1] === DOCUMENT + length;
}
