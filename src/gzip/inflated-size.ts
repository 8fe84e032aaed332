/**
 * The size that a gzip file says it has once inflated: that of its last member, modulo 4 GiB. A hint, for
 * buffers of the right size, that anyone may forge.
 */
export function inflatedSize(file: Buffer): number {
  return file.length < 4 ? 0 : file.readUInt32LE(file.length - 4);
}
