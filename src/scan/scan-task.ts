import type { PostKey } from '../activity/post-keys.js';
import type { InflateLimits } from '../gzip/gzip-file.js';
import type { CheckedLimits } from '../json/record-limits.js';

/** The fields of each post that later stages ask for. */
export interface ScanFields {
  readonly id: boolean;
  readonly tags: boolean;
  readonly keys: readonly PostKey[];
}

/** What the stages between the source and `activities` do with a file. */
export interface ScanStages {
  /** The options of `gunzip`; absent where the file is not to be inflated. */
  readonly gunzip?: InflateLimits | undefined;
  /** The limits of `jsonLines`. */
  readonly limits: CheckedLimits;
}

/**
 * The bytes of a file. They move to the thread that scans them, and back, without a copy, so they must have their
 * memory to themselves. If the thread ends, they are lost: then they are empty.
 */
export interface FileBytes {
  bytes: Buffer;
}

/** A whole file. */
export interface StoredFile {
  /** The path of the file, or its bytes. */
  readonly file: string | FileBytes;
  /** The size of a file at a path when it was listed: one that has become shorter is refused. */
  readonly size?: number | undefined;
  /** The path or URL, for error messages. */
  readonly origin: string;
}

export interface ScanTask extends ScanStages {
  readonly file: string | Uint8Array;
  readonly size?: number | undefined;
}
