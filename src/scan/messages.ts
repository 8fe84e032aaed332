import type { ScanFields, ScanTask } from './scan-task.js';
import type { ScannedColumnsData } from './scanned-columns.js';

/** What a worker is started with. */
export interface WorkerStart {
  readonly fields: ScanFields;
}

/** Bytes of posts for one output: those of the rows from `from` to `to` in a list, each with a line feed. */
export interface WriteRange {
  /** An open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** What the main thread asks of a worker. `file` is a number that it has given to a file. */
export type ScanCommand =
  | { readonly kind: 'scan'; readonly file: number; readonly task: ScanTask }
  | {
      readonly kind: 'write';
      readonly file: number;
      readonly rows: Uint32Array;
      readonly ranges: readonly WriteRange[];
    }
  /** Transfers the content of a file. */
  | { readonly kind: 'send'; readonly file: number }
  /** Frees the content of a file. */
  | { readonly kind: 'free'; readonly file: number }
  /** Ends the thread after the commands before it. */
  | { readonly kind: 'end' };

/** What a worker answers, in the order of the commands; nothing to `free` and `end`. */
export type ScanReply =
  | {
      readonly kind: 'scanned';
      readonly file: number;
      readonly data: ScannedColumnsData;
      /** Records that are messages in place of posts. */
      readonly messages: readonly Uint8Array[];
      /** Size of the content. */
      readonly bytes: number;
      /** What the task had in place of a path. */
      readonly input: Uint8Array | undefined;
    }
  /** The file has to be read in another way. */
  | { readonly kind: 'refused'; readonly file: number; readonly input: Uint8Array | undefined }
  | { readonly kind: 'written'; readonly file: number; readonly failure: WriteFailure | undefined }
  | { readonly kind: 'sent'; readonly file: number; readonly bytes: Uint8Array };

/** A failed system call, as an error loses its code on the way between threads. */
export interface WriteFailure {
  /** Of the range. */
  readonly index: number;
  readonly message: string;
  readonly code: string | undefined;
  readonly errno: number | undefined;
  readonly syscall: string | undefined;
}
