import { BACKSLASH, bufferOf, isClosing, isOpening, QUOTE } from './json-bytes.js';
import { type Finder, newFinder } from './member-spans.js';

/**
 * Whether a complete JSON value nests deeper than `maxDepth`; `ValueEnd` checks values that
 * arrive in blocks. Most records have too few brackets to need a scan.
 *
 * @param maxDepth At least 1.
 */
export function isDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  return opensMoreThan(maxDepth, json) && nestsDeeperThan(maxDepth, json);
}

/** Bytes that are counted at once, at the start of the memory of the module. */
const BLOCK = 64 * 1024;
let counter: { readonly finder: Finder; readonly memory: Buffer } | undefined;

/** Whether there are more than `maxDepth` opening brackets, strings included: a quick first check, by WebAssembly. */
function opensMoreThan(maxDepth: number, json: Uint8Array): boolean {
  try {
    counter ??= newCounter();
  } catch {
    // Without memory for it, the brackets are looked at one by one.
    return true;
  }
  const { finder, memory } = counter;
  const bytes = bufferOf(json);
  let openings = 0;
  for (let at = 0; at < bytes.length && openings <= maxDepth; at += BLOCK)
    openings += finder.countOpenings(
      0,
      bytes.copy(memory, 0, at, Math.min(at + BLOCK, bytes.length)),
    );
  return openings > maxDepth;
}

function newCounter() {
  const finder = newFinder();
  return { finder, memory: Buffer.from(finder.memory.buffer) };
}

function nestsDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  const { length } = json;
  let depth = 0;
  // Every open bracket needs a closing one, so only half of the remaining bytes can go deeper.
  for (let at = 0; at < length - 2 * maxDepth + depth; ) {
    const byte = json[at++]!;
    if (byte === QUOTE) at = afterString(json, at);
    else if (isOpening(byte)) {
      if (++depth > maxDepth) return true;
    } else if (isClosing(byte)) depth--;
  }
  return false;
}

function afterString(json: Uint8Array, start: number): number {
  const { length } = json;
  let at = start;
  while (at < length) {
    const byte = json[at++];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return at;
}
