/**
 * What whole gzip files were found to hold by a source that had to look before it handed them on, so
 * that `gunzip` need not inflate them again. A file is known by its very buffer, which no one changes.
 */
const inflated = new WeakMap<Uint8Array, Buffer>();

export function rememberInflated(file: Buffer, content: Buffer): void {
  inflated.set(file, content);
}

export function recallInflated(file: Uint8Array): Buffer | undefined {
  return inflated.get(file);
}
