declare const framing: unique symbol;

/** Bytes of any kind, except records. What inflates or cuts files reads these. */
export type Bytes = Uint8Array & { readonly [framing]?: 'none' };

/** A block of a file, cut at any byte. `jsonLines` and `jsonElements` make records of blocks. */
export interface FileBytes extends Uint8Array {
  readonly [framing]: 'none';
}

/**
 * The bytes of one JSON object, as `jsonLines` and `jsonElements` cut them. `activities` reads only these. At run time it is a
 * `Buffer`. A stage of your own that cuts records yields `bytes as JsonRecord`; `activities` checks each.
 */
export interface JsonRecord extends Buffer {
  readonly [framing]: 'record';
}
