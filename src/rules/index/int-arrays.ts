/** Arrays that all threads can read without a copy. */
export function sharedInts(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * length));
}

/** Integers with room for more: the array itself, or a copy of at least twice its length. */
export function grown(ints: Int32Array, length: number): Int32Array {
  if (length <= ints.length) return ints;
  const longer = new Int32Array(Math.max(length, 2 * ints.length));
  longer.set(ints);
  return longer;
}

/** The UTF-16 units of a text. */
export function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at);
  return units;
}

/** Integers as pairs of units. */
export function unitsIn(ints: Int32Array): Uint16Array {
  return new Uint16Array(ints.buffer, ints.byteOffset, 2 * ints.length);
}

export function textIn(units: Uint16Array): string {
  let text = '';
  for (const unit of units) text += String.fromCharCode(unit);
  return text;
}
