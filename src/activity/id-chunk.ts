export const CHUNK = 1024;
const HALF = 2 ** 32;
const MAX_ID = 2n ** 64n - 1n;
const DIGITS = /^\d{1,20}$/;
/** A safe integer in base 36. */
const DIFFERENCE = /^[+-][\da-z]{1,11}$/;

/** Receives ids as halves of 64-bit integers, or as strings if they are anything else. */
export interface IdReader {
  number(high: number, low: number): void;
  other(id: string): void;
}

/**
 * Up to 1,024 ids in order of arrival. Added ids never change, so a position in a
 * chunk stays valid.
 */
export class IdChunk {
  length = 0;
  next: IdChunk | undefined;
  /** Pairs of halves; zero if the id is in `#others`. */
  readonly #halves = new Uint32Array(2 * CHUNK);
  readonly #others = new Map<number, string>();
  #text: string | undefined;

  push(high: number, low: number): void {
    this.#halves[2 * this.length] = high;
    this.#halves[2 * this.length + 1] = low;
    this.length++;
  }

  pushOther(id: string): void {
    this.#others.set(this.length++, id);
  }

  read(index: number, reader: IdReader): void {
    const other = this.#others.size === 0 ? undefined : this.#others.get(index);
    if (other !== undefined) reader.other(other);
    else reader.number(this.#halves[2 * index]!, this.#halves[2 * index + 1]!);
  }

  /**
   * Ids as text for a checkpoint, separated by spaces: digits, or the difference to the previous
   * number, signed and in base 36, or a JSON string.
   */
  text(from: number, to: number): string {
    if (from > 0 || to < CHUNK) return this.#encode(from, to);
    this.#text ??= this.#encode(from, to);
    return this.#text;
  }

  #encode(from: number, to: number): string {
    const tokens: string[] = [];
    let last: readonly [number, number] | undefined;
    const encoder: IdReader = {
      number(high, low) {
        const [lastHigh, lastLow] = last ?? [Number.POSITIVE_INFINITY, 0];
        const delta = (high - lastHigh) * HALF + (low - lastLow);
        if (!Number.isSafeInteger(delta)) tokens.push(digits(high, low));
        else tokens.push(delta < 0 ? delta.toString(36) : `+${delta.toString(36)}`);
        last = [high, low];
      },
      other(id) {
        tokens.push(JSON.stringify(id).replaceAll(' ', '\\u0020'));
      },
    };
    for (let index = from; index < to; index++) this.read(index, encoder);
    return tokens.join(' ');
  }
}

/** Reads the text of `IdChunk.text`. Throws a SyntaxError for anything else. */
export function readText(text: string, reader: IdReader): void {
  let last: bigint | undefined;
  for (const token of text.split(' ')) {
    if (token.startsWith('"')) {
      reader.other(String(JSON.parse(token)));
      continue;
    }
    const id = numberOf(token, last);
    if (id === undefined || id < 0n || id > MAX_ID) throw new SyntaxError(`Not an id: ${token}`);
    reader.number(Number(id >> 32n), Number(id & 0xffffffffn));
    last = id;
  }
}

/** Of digits, or of the difference to the previous number. */
function numberOf(token: string, last: bigint | undefined): bigint | undefined {
  if (DIGITS.test(token)) return BigInt(token);
  if (last === undefined || !DIFFERENCE.test(token)) return undefined;
  return last + BigInt(Number.parseInt(token, 36));
}

function digits(high: number, low: number): string {
  return ((BigInt(high) << 32n) | BigInt(low)).toString();
}
