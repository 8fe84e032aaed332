import { FIND_MEMBERS } from './find-members-wasm.js';

/** The keys of members to find; for a member that is an object, `true` or the keys to find in it. */
export interface WantedMembers {
  readonly [key: string]: true | WantedMembers;
}

/** What `find-members.as` exports. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer };
  findMembers(length: number, table: number, spans: number, bytes: number): number;
  findInElement(at: number, table: number, spans: number, bytes: number): number;
  /**
   * Decodes the string between two positions of the document, without its quotes. Returns the end of the decoded string in
   * the memory, or -1 if the string is invalid or must be read in another way.
   *
   * @param at The start of the decoded string in the memory. After it, there must be room for three times the length of the string, and 64 bytes.
   * @param mode Of `DECODED`.
   * @param prefix The start of other bytes of the document that go before the string, without quotes and commas.
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

/** How a string is decoded; these add up. */
export const DECODED = {
  /** UTF-8. */
  plain: 0,
  /** UTF-8, with `&amp;`, `&lt;` and `&gt;` decoded. */
  entities: 1,
  /** A CSV field, quoted if needed. */
  field: 2,
  /** An element of a JSON list in a CSV field. */
  element: 4,
} as const;

/** Who has the memory of decoded strings. */
export interface DecodingUser {
  /** Called before another user gets the memory: copies from it what has to be kept. */
  leave(): void;
}

/** Decodes strings of the document into memory that one user has at a time. */
export class StringDecoder {
  readonly decode: Module['decodeText'];
  /** The size of the memory. */
  readonly size: number;
  readonly #memory: Buffer;
  #user: DecodingUser | undefined;

  constructor(memory: Buffer, decode: Module['decodeText']) {
    this.#memory = memory;
    this.size = memory.length;
    this.decode = decode;
  }

  /**
   * The memory that `decode` writes to, in which its user may write other bytes. Call it for each document: another user may
   * have taken the memory.
   */
  memoryFor(user: DecodingUser): Buffer {
    if (this.#user !== user) {
      this.#user?.leave();
      this.#user = user;
    }
    return this.#memory;
  }
}

/** Elements of arrays of the document, one at a time. */
export interface Elements {
  /** The first value of the element that was read last, among `spans`. */
  readonly first: number;
  /**
   * Reads the element after an opening bracket or a comma, and returns the position of what follows it; 0 if it is of
   * another type, or is not JSON.
   */
  read(at: number): number;
}

/** The types of Node lack it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Addresses in the memory of the module. Keep the addresses of the document and of decoded strings equal to `find-members.as`.
const SPANS = 1024;
const TABLES = 8 * 1024;
const DOCUMENT = 64 * 1024;
const DECODED_STRINGS = 6 * 64 * 1024;
const END = 14 * 64 * 1024;

/** The module reads blocks of this size, and so beyond the end of a document. */
const BLOCK_BYTES = 16;

/** Entries of a table of keys, by their hash. */
const SLOTS = 64;
// A wanted key, as in `find-members.as`: its first eight bytes, and at these offsets the rest.
const KEY_LENGTH = 8;
const KEY_MEMBERS = 12;
const KEY_NEXT = 16;
const KEY_SPAN = 20;
const KEY_BYTES = 24;
const HASH_FACTOR = 0x9e3779b97f4a7c15n;

/**
 * Finds the wanted members of a JSON document, without parsing the others: by WebAssembly, which reads sixteen
 * bytes at once. It is the only one that knows addresses in the memory of its module: it gives positions in the document
 * that it has searched last.
 *
 * Skipped members are not checked, except for their strings, the depth of their brackets, commas and colons. Control characters in
 * strings that are wanted are refused; other values are for their reader to check.
 */
export class MemberFinder {
  /** The document. */
  readonly bytes: Buffer;
  /**
   * Where wanted values are in the document. A value is known by a number: the index of its start, which is 0 if the
   * document does not have it. Its end follows, with bits for what is in a string: see `member-values.ts`.
   */
  readonly spans: Uint32Array;
  /** The number of each wanted member, by its path, such as `user.name`. */
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
   * Finds the members of the document between two positions. `false` if it is too large, not an object, has a wanted
   * key twice or escapes in keys, or is not JSON.
   */
  find(content: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (length > this.bytes.length - BLOCK_BYTES) return false;
    content.copy(this.bytes, 0, start, end);
    const spans = 8 * this.members.size;
    return this.#module.findMembers(length, this.#table, SPANS, spans) === 1;
  }

  /** A reader of elements that are objects with wanted members, whose values it numbers in this order, or strings. */
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

  /** Writes a table of keys as `find-members.as` reads it, and numbers the members, each before those in it. */
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

/** The number of the value whose span is at an address. */
function numberOf(span: number): number {
  return (span - SPANS) / 4;
}

function countOf(wanted: WantedMembers): number {
  const nested = Object.values(wanted).map(members =>
    members === true ? 1 : 1 + countOf(members),
  );
  return nested.reduce((sum, count) => sum + count, 0);
}
