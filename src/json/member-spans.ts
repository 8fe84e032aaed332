import { FIND_MEMBERS } from './find-members-wasm.js';

/** The keys of members to find; for a member that is an object, `true` or the keys to find in it. */
export interface WantedMembers {
  readonly [key: string]: true | WantedMembers;
}

/** What `find-members.as` exports. */
export interface Finder {
  readonly memory: { readonly buffer: ArrayBuffer };
  findMembers(
    document: number,
    length: number,
    table: number,
    spans: number,
    bytes: number,
  ): number;
  countOpenings(document: number, length: number): number;
  findInElement(at: number, table: number, spans: number, bytes: number): number;
  decodeText(
    from: number,
    to: number,
    out: number,
    mode: number,
    prefix: number,
    prefixEnd: number,
  ): number;
}

/** How `decodeText` writes a text; these add up. */
export const DECODED = {
  /** As UTF-8. */
  plain: 0,
  /** With `&`, `<` and `>` for `&amp;`, `&lt;` and `&gt;`. */
  entities: 1,
  /** As a field of CSV. */
  field: 2,
  /** As an element of a JSON list in a field of CSV. */
  element: 4,
} as const;

/** Elements of arrays that were found, one at a time. */
export interface Elements {
  /** As `positions` of `MemberSpans`, of the last element; of a text, that of its own. */
  readonly positions: Uint32Array;
  /**
   * Reads the element after an opening bracket or a comma, and returns the position of what follows it; 0 where it is of
   * another type, or is not JSON.
   */
  read(at: number): number;
}

/** The types of Node lack it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

// Places in the memory of the module. Address 0 is none.
const SPANS = 1024;
/** The start of the document that was read last. */
export const DOCUMENT = 64 * 1024;
/** Free memory for those who write by `decodeText`. */
export const FREE = 6 * 64 * 1024;
export const FREE_END = 14 * 64 * 1024;
/** Entries of a table of keys, by their hash. */
const SLOTS = 64;
// A wanted key, as in `find-members.as`: its first eight bytes, and at these offsets the rest.
const KEY_LENGTH = 8;
const KEY_MEMBERS = 12;
const KEY_NEXT = 16;
const KEY_SPAN = 20;
const KEY_BYTES = 24;
const HASH_FACTOR = 0x9e3779b97f4a7c15n;

/** In the end of a string: whether it has characters beyond ASCII, and escapes. */
export const BEYOND_ASCII = 0x80000000;
export const ESCAPES = 0x40000000;
export const POSITION = 0x3fffffff;

/**
 * Finds the wanted members of a JSON document, without parsing the others: by WebAssembly, which reads sixteen
 * bytes at once.
 *
 * Skipped members are not checked, except for their strings, the depth of their brackets, commas and colons. Control characters in
 * strings that are wanted are refused; other values are for their reader to check.
 */
export class MemberSpans {
  /** The memory of the module, with a copy of the document. */
  readonly bytes: Buffer;
  /**
   * Start and end of each wanted member; both are 0 where the document does not have it. The end of a string has bits for
   * what is in it.
   */
  readonly positions: Uint32Array;
  readonly decodeText: Finder['decodeText'];
  /** The place of each wanted member in `positions`, by its path, such as `user.name`. */
  readonly places: ReadonlyMap<string, number>;
  readonly #finder: Finder;
  readonly #table: number;
  #free: number;

  /** @throws RangeError where the module gets no memory. */
  constructor(wanted: WantedMembers) {
    this.#finder = newFinder();
    this.decodeText = this.#finder.decodeText;
    this.bytes = Buffer.from(this.#finder.memory.buffer);
    this.#free = SPANS + 8 * countOf(wanted);
    const places = new Map<string, number>();
    this.#table = this.#addTable(wanted, SPANS, places);
    this.places = places;
    this.positions = new Uint32Array(this.#finder.memory.buffer, SPANS, 2 * places.size);
  }

  /**
   * Finds the members of the document between two positions. `false` where it is too large, not an object, has a wanted
   * key twice or escapes in keys, or is not JSON.
   */
  find(content: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (length > FREE - DOCUMENT - 16) return false;
    content.copy(this.bytes, DOCUMENT, start, end);
    const size = this.positions.byteLength;
    return this.#finder.findMembers(DOCUMENT, length, this.#table, SPANS, size) === 1;
  }

  /** Where the value of a member starts, by its place; 0 where there is none. */
  startOf(member: number): number {
    return this.positions[2 * member]!;
  }

  endOf(member: number): number {
    return this.positions[2 * member + 1]! & POSITION;
  }

  /** Of a string. */
  hasEscapes(member: number): boolean {
    return (this.positions[2 * member + 1]! & ESCAPES) !== 0;
  }

  /** A reader of elements that are objects with wanted members, or texts. */
  elements(wanted?: WantedMembers): Elements {
    const count = wanted === undefined ? 1 : countOf(wanted);
    const spans = this.#take(8 * count);
    const table = wanted === undefined ? 0 : this.#addTable(wanted, spans, new Map());
    const { findInElement, memory } = this.#finder;
    return {
      positions: new Uint32Array(memory.buffer, spans, 2 * count),
      read: at => findInElement(at, table, spans, 8 * count),
    };
  }

  /** Writes a table of keys as `find-members.as` reads it, and gives places to them, each before those in it. */
  #addTable(wanted: WantedMembers, spans: number, places: Map<string, number>, path = ''): number {
    const table = this.#take(4 * SLOTS);
    for (const [key, members] of Object.entries(wanted)) {
      const name = Buffer.from(key);
      const entry = this.#take(KEY_BYTES + name.length);
      name.copy(this.bytes, entry + KEY_BYTES);
      const prefix = Buffer.concat([name, Buffer.alloc(8)]).readBigUInt64LE();
      const slot = table + 4 * Number(BigInt.asUintN(64, prefix * HASH_FACTOR) >> 58n);
      const member = places.size;
      places.set(path + key, member);
      const nested =
        members === true ? 0 : this.#addTable(members, spans, places, `${path}${key}.`);
      this.bytes.writeBigUInt64LE(prefix, entry);
      this.bytes.writeUInt32LE(name.length, entry + KEY_LENGTH);
      this.bytes.writeUInt32LE(nested, entry + KEY_MEMBERS);
      this.bytes.writeUInt32LE(this.bytes.readUInt32LE(slot), entry + KEY_NEXT);
      this.bytes.writeUInt32LE(spans + 8 * member, entry + KEY_SPAN);
      this.bytes.writeUInt32LE(entry, slot);
    }
    return table;
  }

  #take(size: number): number {
    const at = this.#free;
    this.#free += (size + 7) & ~7;
    if (this.#free > DOCUMENT) throw new RangeError('Too many members are wanted');
    return at;
  }
}

/** @throws RangeError where the module gets no memory. */
export function newFinder(): Finder {
  const module = new WebAssembly.Module(Buffer.from(FIND_MEMBERS, 'base64'));
  return new WebAssembly.Instance(module).exports as Finder;
}

function countOf(wanted: WantedMembers): number {
  const nested = Object.values(wanted).map(members =>
    members === true ? 1 : 1 + countOf(members),
  );
  return nested.reduce((sum, count) => sum + count, 0);
}
