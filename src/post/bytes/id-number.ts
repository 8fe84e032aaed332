const HALF = 2 ** 32;
const ZERO = 0x30;

/** Reads ids that are 64-bit integers, as two halves of 32 bits. Reused, as it is called for each post. */
export class IdNumber {
  high = 0;
  low = 0;

  /** Whether the id is a 64-bit integer without leading zeros. Zero is not: tables use it for free slots. */
  parse(id: string): boolean {
    const { length } = id;
    if (length === 0 || length > 20 || id.charCodeAt(0) === ZERO) return false;
    let high = 0;
    let low = 0;
    for (let at = 0; at < length; ) {
      // Six digits at a time stay exact in a double: 2^32 * 10^6 < 2^53.
      const end = Math.min(at + 6, length);
      let part = 0;
      let scale = 1;
      for (; at < end; at++) {
        const digit = id.charCodeAt(at) - ZERO;
        if (digit < 0 || digit > 9) return false;
        part = part * 10 + digit;
        scale *= 10;
      }
      const value = low * scale + part;
      low = value >>> 0;
      high = high * scale + Math.floor(value / HALF);
      if (high >= HALF) return false;
    }
    this.high = high;
    this.low = low;
    return true;
  }

  /** The same for digits that start here in the bytes, up to the next byte that is none. */
  parseDigits(bytes: Uint8Array, start: number): boolean {
    let high = 0;
    let low = 0;
    let at = start;
    for (let digit = bytes[at]! - ZERO; digit >= 0 && digit <= 9; ) {
      let part = 0;
      let scale = 1;
      for (let left = 6; left > 0 && digit >= 0 && digit <= 9; left--) {
        part = part * 10 + digit;
        scale *= 10;
        digit = bytes[++at]! - ZERO;
      }
      const value = low * scale + part;
      low = value >>> 0;
      high = high * scale + Math.floor(value / HALF);
      if (high >= HALF) return false;
    }
    this.high = high;
    this.low = low;
    return at > start && bytes[start] !== ZERO;
  }
}
