import { DataError } from '../base/errors.js';
import { ElementSplitter } from './element-splitter.js';
import { parseExact } from './exact-json.js';
import type { Framer } from './framer.js';
import type { Json } from './json.js';
import type { CheckedLimits } from './record-limits.js';

/** The parsed elements of one array at the top level of a document; see `jsonArray`. */
export class JsonArrayFramer implements Framer<Json> {
  readonly #splitter: ElementSplitter;
  readonly #origin: string | undefined;

  constructor(key: string, limits: CheckedLimits, origin: string | undefined) {
    this.#splitter = new ElementSplitter(key, { ...limits, origin });
    this.#origin = origin;
  }

  push(block: Buffer, items: Json[]): undefined {
    const elements: Buffer[] = [];
    try {
      this.#splitter.push(block, elements);
    } finally {
      // Also those before a mistake: an element that is not JSON is then the first mistake.
      for (const element of elements) items.push(this.#parsed(element));
    }
  }

  end(): void {
    this.#splitter.end();
  }

  #parsed(element: Buffer): Json {
    try {
      return parseExact(element) as Json;
    } catch (cause) {
      const { message } = cause as Error;
      throw new DataError(message, { cause, position: { origin: this.#origin } });
    }
  }
}
