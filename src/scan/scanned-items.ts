import type { HeldFile } from './held-file.js';

/** Posts of a scanned file that have passed the stages so far. */
export interface ScannedItems {
  readonly file: HeldFile;
  /** The row of each item; one that is routed to several tags comes several times. */
  readonly rows: Uint32Array;
  /** For each item, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}
