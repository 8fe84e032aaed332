/**
 * What whole gzip files were found to hold by a source that had to look before it handed them on, so
 * that `gunzip` need not inflate them again. A file is known by its very buffer, which no one changes.
 */
const inflated = new WeakMap<Uint8Array, Buffer>();

export function rememberInflated(file: Buffer, content: Buffer): void {
  inflated.set(file, content);
}

/** Hands it over: what was known is known no more, so that nothing lives longer than it is needed. */
export function takeInflated(file: Uint8Array): Buffer | undefined {
  const content = inflated.get(file);
  inflated.delete(file);
  return content;
}
