import { FIND_MEMBERS } from './find-members-wasm.js';

/** The keys of the members to find. For a member that is an object, `true`, or the keys to find in it. */
export interface WantedMembers {
  readonly [key: string]: true | WantedMembers;
}

/** The exports of `find-members.as`. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer };
  findMembers(length: number, table: number, spans: number, bytes: number): number;
  findInElement(at: number, table: number, spans: number, bytes: number): number;
  /**
   * Decodes the string between two positions of the document, without its quotes. Returns the end of the
   * decoded string in the memory, or -1 if the string is invalid or must be decoded in another way.
   *
   * @param at The start of the decoded string in the memory. After it, there must be room for three times the
   * length of the string, and 64 bytes.
   * @param mode Flags of `DECODED`.
   * @param prefix The start of other bytes of the document to write before the string. They must not contain
   * quotes or commas.
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

/** Flags for how a string is decoded. They are added. */
export const DECODED = {
  /** Writes UTF-8. */
  plain: 0,
  /** Writes UTF-8, with `&amp;`, `&lt;` and `&gt;` decoded. */
  entities: 1,
  /** Writes a CSV field, quoted if needed. */
  field: 2,
  /** Writes an element of a JSON list in a CSV field. */
  element: 4,
} as const;

/** A user of the memory for decoded strings, which has one user at a time. */
export interface DecodingUser {
  /** Called before another user gets the memory. Must copy everything that is still needed. */
  leave(): void;
}

/** Decodes strings of the document into memory that one user has at a time. */
export class StringDecoder {
  readonly decode: Module['decodeText'];
  /** The size of the memory in bytes. */
  readonly size: number;
  readonly #memory: Buffer;
  #user: DecodingUser | undefined;

  constructor(memory: Buffer, decode: Module['decodeText']) {
    this.#memory = memory;
    this.size = memory.length;
    this.decode = decode;
  }

  /**
   * Takes the memory that `decode` writes to. Its user may also write other bytes to it. Call this
   * for each document, because another user may have taken the memory.
   */
  memoryFor(user: DecodingUser): Buffer {
    if (this.#user !== user) {
      this.#user?.leave();
      this.#user = user;
    }
    return this.#memory;
  }
}

/** Reads elements of arrays in the document, one at a time. */
export interface Elements {
  /** The index in `spans` of the first value of the last read element. */
  readonly first: number;
  /**
   * Reads the element after an opening bracket or comma, and returns the position after it. Returns 0 if the
   * element has another type or is not JSON.
   */
  read(at: number): number;
}

/** Declared here, because Node's types do not contain it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the module. The addresses of the document and of decoded strings must be equal to the
// constants in `find-members.as`.
const SPANS = 1024;
const TABLES = 8 * 1024;
const DOCUMENT = 64 * 1024;
const DECODED_STRINGS = 6 * 64 * 1024;
const END = 14 * 64 * 1024;

/** The module reads blocks of this size, and therefore up to a block beyond the end of a document. */
const BLOCK_BYTES = 16;

/** The number of entries in a hash table of keys. */
const SLOTS = 64;
// A wanted key, with the layout of `find-members.as`: its first eight bytes, then other data at these offsets.
const KEY_LENGTH = 8;
const KEY_MEMBERS = 12;
const KEY_NEXT = 16;
const KEY_SPAN = 20;
const KEY_BYTES = 24;
const HASH_FACTOR = 0x9e3779b97f4a7c15n;

/**
 * Finds the wanted members of a JSON document, without parsing the others, by WebAssembly, which reads 16
 * bytes at a time. Only this class knows addresses in the memory of its module; it returns positions in the
 * last document.
 *
 * Skipped members are not validated, except for strings, commas, colons, and the depth of brackets. Wanted
 * strings must not contain control characters. Other wanted values must be validated by their reader.
 */
export class MemberFinder {
  /** The bytes of the document. */
  readonly bytes: Buffer;
  /**
   * The positions of wanted values in the document. A value has a number, which is the index of its start in
   * this array. The start is 0 if the document does not have the value. The next entry is its end, with bits
   * for the content of a string, see `member-values.ts`.
   */
  readonly spans: Uint32Array;
  /** The number of each wanted member, by path, such as `user.name`. */
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
   * Finds the members of the document between two positions. Returns `false` if the document is too large,
   * not an object or not JSON, or if it has a wanted key twice or escapes in keys.
   */
  find(content: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (length > this.bytes.length - BLOCK_BYTES) return false;
    content.copy(this.bytes, 0, start, end);
    const spans = 8 * this.members.size;
    return this.#module.findMembers(length, this.#table, SPANS, spans) === 1;
  }

  /**
   * Returns a reader of array elements. Elements are objects with wanted members, whose values are numbered
   * in the order of `wanted`, or strings.
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
   * Writes a table of keys with the layout of `find-members.as`, and numbers the members. A member has a
   * smaller number than the members in it.
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

/** The number of the value whose span is at this address. */
function numberOf(span: number): number {
  return (span - SPANS) / 4;
}

function countOf(wanted: WantedMembers): number {
  const nested = Object.values(wanted).map(members =>
    members === true ? 1 : 1 + countOf(members),
  );
  return nested.reduce((sum, count) => sum + count, 0);
}
