import { FIND_MEMBERS } from './find-members-wasm.js';

/**
 * The keys of the members to find. The value of each key is `true`. If the member is an object, the value can
 * instead be the keys to find inside that object.
 */
export interface WantedMembers {
  readonly [key: string]: true | WantedMembers;
}

/** The exports of the WebAssembly module that `find-members.as` defines. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer };
  findMembers(length: number, table: number, spans: number, bytes: number): number;
  findInElement(at: number, table: number, spans: number, bytes: number): number;
  /**
   * Decodes the string between two positions of the document, without its quotes. Returns the position after
   * the decoded string in the module's memory. Returns -1 if the string is invalid or must be decoded in
   * another way.
   *
   * @param at Where to write the decoded string in the module's memory. There must be room for three times
   *   the length of the string, plus 64 bytes.
   * @param mode The sum of flags in `DECODED`.
   * @param prefix The start of other bytes in the document that are written before the string. These bytes
   *   must not contain quotes or commas.
   */
  decodeText(
    from: number,
    to: number,
    at: number,
    mode: number,
    prefix: number,
    prefixEnd: number,
  ): number;
}

/** How `decodeText` writes a string. These are flags that can be added together. */
export const DECODED = {
  /** Writes the string as UTF-8. */
  plain: 0,
  /** Writes the string as UTF-8, and decodes `&amp;`, `&lt;` and `&gt;`. */
  entities: 1,
  /** Writes a CSV field, with quotes if they are needed. */
  field: 2,
  /** Writes a JSON string for an array that is inside a quoted CSV field. */
  element: 4,
} as const;

/** Something that uses the memory for decoded strings. Only one user can use it at a time. */
export interface DecodingUser {
  /**
   * Called before the memory is given to another user. This user must copy everything that it still needs.
   */
  leave(): void;
}

export class StringDecoder {
  readonly decode: Module['decodeText'];
  readonly size: number;
  readonly #memory: Buffer;
  #user: DecodingUser | undefined;

  constructor(memory: Buffer, decode: Module['decodeText']) {
    this.#memory = memory;
    this.size = memory.length;
    this.decode = decode;
  }

  /**
   * Reserves for `user` the memory into which `decode` writes, and returns this memory. The user may also
   * write other bytes there. Call this before each document, because another user may have reserved the
   * memory since the last call.
   */
  memoryFor(user: DecodingUser): Buffer {
    if (this.#user !== user) {
      this.#user?.leave();
      this.#user = user;
    }
    return this.#memory;
  }
}

export interface Elements {
  /** The index in `MemberFinder.spans` at which the values of the last read element begin. */
  readonly first: number;
  /**
   * Reads the element after an opening bracket or a comma. Returns the position after the element. Returns 0
   * if the element has an unexpected type or is not JSON.
   */
  read(at: number): number;
}

/** Declared here because Node's types do not contain it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the WebAssembly module. `DOCUMENT` and `DECODED_STRINGS` must have the same
// values as in `find-members.as`.
const SPANS = 1024;
const TABLES = 8 * 1024;
const DOCUMENT = 64 * 1024;
const DECODED_STRINGS = 6 * 64 * 1024;
const END = 14 * 64 * 1024;

/**
 * `find-members.as` reads blocks of this size, in bytes. It may read up to one block beyond the end of a
 * document.
 */
const BLOCK_BYTES = 16;

/**
 * The number of slots in a hash table of wanted keys. The top 6 bits of a key's hash select its slot, here
 * and in `find-members.as`.
 */
const SLOTS = 64;
// An entry of the table starts with the first eight bytes of the key. These are the offsets of its other
// fields, and its size without the full key. `find-members.as` has the same layout.
const KEY_LENGTH = 8;
const KEY_MEMBERS = 12;
const KEY_NEXT = 16;
const KEY_SPAN = 20;
const KEY_BYTES = 24;
const HASH_FACTOR = 0x9e3779b97f4a7c15n;

/**
 * Finds the wanted members of a JSON document without parsing the other members. Uses WebAssembly, which
 * reads 16 bytes at a time. Addresses in the memory of the module are known only to this class. Callers get
 * positions in the document that was read last.
 *
 * Skipped members are not validated, except for their strings, commas and colons, and the depth of their
 * brackets. Wanted strings must not contain control characters. All other wanted values must be validated by
 * the code that reads them.
 */
export class MemberFinder {
  /** The bytes of the document that was read last. */
  readonly bytes: Buffer;
  /**
   * The start and end positions of the wanted values in the document, one pair for each value. `members` has
   * the index of the start; the end follows it. The start is 0 if the document does not have the value. In
   * the end of a string, the two highest bits are flags; see `member-values.ts`.
   */
  readonly spans: Uint32Array;
  /**
   * The index in `spans` of each wanted member's start position. The key is the path of the member, such as
   * `user.name`.
   */
  readonly members: ReadonlyMap<string, number>;
  readonly strings: StringDecoder;
  readonly #module: Module;
  readonly #memory: Buffer;
  readonly #table: number;
  #freeSpan = SPANS;
  #freeTable = TABLES;

  /** @throws RangeError if WebAssembly gets no memory. */
  constructor(wanted: WantedMembers) {
    const module = new WebAssembly.Module(Buffer.from(FIND_MEMBERS, 'base64'));
    this.#module = new WebAssembly.Instance(module).exports as Module;
    const { buffer } = this.#module.memory;
    this.#memory = Buffer.from(buffer);
    this.bytes = this.#memory.subarray(DOCUMENT, DECODED_STRINGS);
    this.spans = new Uint32Array(buffer, SPANS, (TABLES - SPANS) / 4);
    const decoded = this.#memory.subarray(DECODED_STRINGS, END);
    this.strings = new StringDecoder(decoded, this.#module.decodeText);
    const members = new Map<string, number>();
    this.#table = this.#addTable(wanted, this.#takeSpans(wanted), members);
    this.members = members;
  }

  /**
   * Finds the wanted members of the document in `content` from `start` to `end`, and sets `spans` to their
   * positions. Returns `false` if the document is too large, is not a JSON object, repeats a wanted key, or
   * has a key with escapes.
   */
  find(content: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (length > this.bytes.length - BLOCK_BYTES) return false;
    content.copy(this.bytes, 0, start, end);
    const spans = 8 * this.members.size;
    return this.#module.findMembers(length, this.#table, SPANS, spans) === 1;
  }

  /**
   * Returns a reader of the elements of an array. If `wanted` is given, the elements are objects, and the
   * indexes of their members follow the order of `wanted`. Otherwise, the elements are strings.
   */
  elements(wanted?: WantedMembers): Elements {
    const spans = this.#takeSpans(wanted ?? { string: true });
    const bytes = this.#freeSpan - spans;
    const table = wanted === undefined ? 0 : this.#addTable(wanted, spans, new Map());
    const { findInElement } = this.#module;
    return {
      first: numberOf(spans),
      read: at => findInElement(at, table, spans, bytes),
    };
  }

  /**
   * Writes a table of keys in the layout that `find-members.as` defines, and assigns an index to each member.
   * A member has a smaller index than the members inside it.
   */
  #addTable(wanted: WantedMembers, spans: number, members: Map<string, number>, path = ''): number {
    const memory = this.#memory;
    const table = this.#takeTable(4 * SLOTS);
    for (const [key, nested] of Object.entries(wanted)) {
      const name = Buffer.from(key);
      const entry = this.#takeTable(KEY_BYTES + name.length);
      name.copy(memory, entry + KEY_BYTES);
      const prefix = Buffer.concat([name, Buffer.alloc(8)]).readBigUInt64LE();
      const slot = table + 4 * Number(BigInt.asUintN(64, prefix * HASH_FACTOR) >> 58n);
      const span = spans + 8 * members.size;
      members.set(path + key, numberOf(span));
      memory.writeBigUInt64LE(prefix, entry);
      memory.writeUInt32LE(name.length, entry + KEY_LENGTH);
      memory.writeUInt32LE(memory.readUInt32LE(slot), entry + KEY_NEXT);
      memory.writeUInt32LE(span, entry + KEY_SPAN);
      memory.writeUInt32LE(entry, slot);
      if (nested !== true)
        memory.writeUInt32LE(
          this.#addTable(nested, spans, members, `${path}${key}.`),
          entry + KEY_MEMBERS,
        );
    }
    return table;
  }

  #takeSpans(wanted: WantedMembers): number {
    const at = this.#freeSpan;
    this.#freeSpan += 8 * countOf(wanted);
    if (this.#freeSpan > TABLES) throw new RangeError('Too many members are wanted');
    return at;
  }

  #takeTable(bytes: number): number {
    const at = this.#freeTable;
    this.#freeTable += (bytes + 7) & ~7;
    if (this.#freeTable > DOCUMENT) throw new RangeError('Too many members are wanted');
    return at;
  }
}

function numberOf(span: number): number {
  return (span - SPANS) / 4;
}

function countOf(wanted: WantedMembers): number {
  const nested = Object.values(wanted).map(members =>
    members === true ? 1 : 1 + countOf(members),
  );
  return nested.reduce((sum, count) => sum + count, 0);
}
