/**
 * The inflated size that a gzip file states: that of its last member, modulo 4 GiB. Not to be trusted; used
 * to choose the size of buffers.
 */
export function inflatedSize(file: Buffer): number {
  return file.length < 4 ? 0 : file.readUInt32LE(file.length - 4);
}
