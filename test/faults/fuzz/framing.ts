import { loadModule } from '../load-library.js';
import {
  check,
  cutUp,
  expectSame,
  isRecord,
  outcomes,
  type ParserKind,
  parsedJson,
} from './parser.js';
import { seedJson, seedPost } from './seeds.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const LIMITS = { maxBytes: 4_000, maxDepth: 24 };
const JSON_TOKENS = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    '\n',
    '\r\n',
    '"results"',
    '"results":[',
    '],"next":"x"}',
  ],
  ...['[[[[[[[[', '{"a":', '"\\u', 'true', 'null', '-0', '1e5', ' ', '/*', "'", '"__proto__":'],
];

export const lines: ParserKind = {
  holds:
    'the same lines for any chunks, and exactly the lines of a document whose lines are all JSON objects',
  async open(library) {
    const { LineFramer } = await loadModule(library, 'json/line-framer');
    const errors = await outcomes(library);
    const framed = async (separator: '\n' | '\r\n', chunks: readonly Buffer[]) => {
      const framer = new LineFramer(separator, LIMITS, 'posts.jsonl');
      const found: Buffer[] = [];
      const outcome = await errors.ofAsync(async () => {
        for (const chunk of chunks) await framer.push(chunk, found);
        await framer.end(found);
      });
      return { found, error: outcome.error };
    };
    return {
      tokens: JSON_TOKENS,
      seed: random =>
        Buffer.from(
          Array.from({ length: random.whole(1, 4) }, () =>
            random.chance(0.5) ? seedPost(random) : JSON.stringify({ a: seedJson(random, 3) }),
          ).join(random.pick(['\n', '\r\n'])) + random.pick(['', '\n', '\r\n', '\n\n']),
        ),
      async attempt(input, random) {
        const separator = random.pick(['\n', '\r\n'] as const);
        const whole = await framed(separator, [input]);
        const cut = await framed(separator, cutUp(input, random));
        expectSame(cut, whole, 'Cut into chunks, it gives');
        if (separator === '\n') {
          const parts = input.toString('latin1').split(/\r?\n/);
          const texts = parts
            .filter(part => /[^ \t\r]/.test(part))
            .map(part => Buffer.from(part, 'latin1'));
          const isPlain = texts.every(
            text =>
              isRecord(parsedJson(text)?.value) &&
              text.length <= LIMITS.maxBytes / 2 &&
              depthOf(text) <= LIMITS.maxDepth,
          );
          if (isPlain) {
            check(
              whole.error === undefined,
              `Refused, and all lines are JSON objects: ${whole.error}`,
            );
            expectSame(
              whole.found.map(line => parsedJson(line)?.value),
              texts.map(text => parsedJson(text)?.value),
              'The lines are',
            );
          }
        }
        return whole.error === undefined;
      },
    };
  },
};

export const elements: ParserKind = {
  holds: 'the same elements for any chunks, and those of `JSON.parse`',
  async open(library) {
    const { ElementSplitter } = await loadModule(library, 'json/element-splitter');
    const errors = await outcomes(library);
    const split = (chunks: readonly Buffer[]) => {
      const splitter = new ElementSplitter('results', LIMITS);
      const found: Buffer[] = [];
      const outcome = errors.of(() => {
        for (const chunk of chunks) splitter.push(chunk, found);
        return splitter.end();
      });
      return { found, ...outcome };
    };
    return {
      tokens: JSON_TOKENS,
      seed: random =>
        Buffer.from(
          JSON.stringify({
            ...(random.chance(0.5) && { before: seedJson(random, 2) }),
            results: Array.from({ length: random.whole(0, 4) }, () => seedJson(random, 3)),
            ...(random.chance(0.5) && { next: 'abc', requestParameters: seedJson(random, 2) }),
          }),
        ),
      attempt(input, random) {
        const whole = split([input]);
        const cut = split(cutUp(input, random));
        // The chunks determine how many elements are delivered before the document proves too
        // large, so these elements are not compared.
        if (input.length <= LIMITS.maxBytes || whole.error === undefined)
          expectSame(cut.found, whole.found, 'Cut into chunks, its elements are');
        expectSame(
          cut.error === undefined,
          whole.error === undefined,
          'Cut into chunks, it is accepted:',
        );
        // A document may start with a byte order mark.
        const hasMark = input.subarray(0, 3).equals(BYTE_ORDER_MARK);
        const parsed = parsedJson(hasMark ? input.subarray(3) : input);
        const text = input.toString('latin1');
        // If a document contains the array twice, the splitter takes the first one and `JSON.parse`
        // takes the last one. Such documents are not compared.
        const isClear = text.split('"results"').length === 2 && !text.includes('\\u');
        if (
          parsed !== undefined &&
          isRecord(parsed.value) &&
          isClear &&
          depthOf(input) <= LIMITS.maxDepth
        ) {
          const { results } = parsed.value;
          if (Object.hasOwn(parsed.value, 'results') && Array.isArray(results)) {
            if (input.length <= LIMITS.maxBytes) {
              check(whole.error === undefined, `Refused, and is valid: ${whole.error}`);
              expectSame(
                whole.found.map(element => parsedJson(element)?.value),
                results,
                'The elements are',
              );
            }
          } else check(whole.error !== undefined, 'Accepted without an array at its top level');
        }
        if (whole.error === undefined && parsed === undefined)
          check(
            whole.found.some(element => parsedJson(element) === undefined),
            'Accepted, with elements that are all JSON, in a document that is not',
          );
        return whole.error === undefined;
      },
    };
  },
};

function depthOf(bytes: Buffer): number {
  let depth = 0;
  let max = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = String.fromCharCode(bytes[at] as number);
    if (inString) {
      if (byte === '\\') at++;
      else if (byte === '"') inString = false;
    } else if (byte === '"') inString = true;
    else if (byte === '{' || byte === '[') max = Math.max(max, ++depth);
    else if (byte === '}' || byte === ']') depth--;
  }
  return max;
}
