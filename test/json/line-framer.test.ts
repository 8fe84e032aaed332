import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { LineFramer, type Separator } from '../../src/json/line-framer.js';
import { bySuite } from '../suite.js';
import { cutAt } from './cut.js';

const LIMITS = { maxBytes: 1_000, maxDepth: 10 };

describe('blank lines between records of LineFramer', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('are skipped several at a time', async () => {
    const records: Buffer[] = [];
    const block = Buffer.concat([Buffer.alloc(100_000, '\n'), Buffer.from('{"a":1}\n')]);
    const search = vi.spyOn(Buffer.prototype, 'indexOf');
    await new LineFramer('\n', LIMITS, undefined).push(block, records);
    expect(search.mock.calls.length).toBeLessThan(10);
    expect(records.map(String)).toEqual(['{"a":1}']);
  });

  it('are included in the line number of a damaged line, for any chunk sizes', async () => {
    const blank = fc.constantFrom('', ' ', '\t', '\r', ' \t\r');
    const line = fc.oneof({ arbitrary: blank, weight: 3 }, fc.constantFrom('{"a":1}', ' {} '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 30 }),
        fc.array(fc.nat(100), { maxLength: 4 }),
        async (lines, cuts) => {
          const before = lines.map(text => `${text}\n`).join('');
          const bytes = Buffer.from(`${before}damaged\n{"never":1}\n`);
          const places = [0, ...cuts.filter(at => at < bytes.length).toSorted((a, b) => a - b)];
          const framer = new LineFramer('\n', LIMITS, 'file');
          const records: Buffer[] = [];
          const run = async () => {
            for (const [index, from] of places.entries())
              await framer.push(bytes.subarray(from, places[index + 1] ?? bytes.length), records);
          };
          const error = await run().catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(DataError);
          expect((error as DataError).position).toEqual({
            origin: 'file',
            line: lines.length + 1,
            byteOffset: before.length,
          });
          expect(records.map(String)).toEqual(
            lines.map(text => text.trim()).filter(text => text !== ''),
          );
        },
      ),
    );
  });
});

type Found = readonly [
  kind: 'record' | 'damaged',
  text: string,
  line?: number | undefined,
  byteOffset?: number | undefined,
];

async function framed(blocks: readonly Buffer[], separator: Separator): Promise<Found[]> {
  const found: Found[] = [];
  const framer = new LineFramer(separator, { maxBytes: 100_000, maxDepth: 3_000 }, 'file', {
    onDamaged: ({ raw, line, byteOffset }) =>
      void found.push(['damaged', raw.toString(), line, byteOffset]),
  });
  const take = async (frame: (records: Buffer[]) => Promise<void> | undefined) => {
    const records: Buffer[] = [];
    await frame(records);
    for (const record of records) found.push(['record', record.toString()]);
  };
  for (const block of blocks) await take(records => framer.push(block, records));
  await take(records => framer.end(records));
  return found;
}

/** Splits a line into the expected records. Uses only `JSON.parse` to find their ends. */
function split(text: string, line: number, lineAt: number): Found[] {
  const found: Found[] = [];
  const space = /^[ \t\n\r]*/;
  let at = space.exec(text)?.[0].length ?? 0;
  let from = at;
  while (text.slice(from).trim() !== '') {
    const end = ends(text).find(end => end > at && isObject(text.slice(at, end)));
    if (end === undefined) {
      const rest = from + (space.exec(text.slice(from))?.[0].length ?? 0);
      found.push(['damaged', text.slice(rest).trimEnd(), line, lineAt + rest]);
      return found;
    }
    found.push(['record', text.slice(at, end)]);
    from = end;
    at = end + (/^\s*,?\s*/.exec(text.slice(end))?.[0].length ?? 0);
  }
  return found;
}

const ends = (text: string) => [...text.matchAll(/\}/g)].map(({ index }) => index + 1);

function isObject(text: string): boolean {
  try {
    return text.startsWith('{') && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

const ofKind = (found: readonly Found[], wanted: string) =>
  found.filter(([kind]) => kind === wanted);

describe('the records of LineFramer', () => {
  const part = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
        .map(value => JSON.stringify(value)),
    },
    fc.constantFrom(
      '{"a":1,}',
      '{]}',
      '{"a":"b',
      '{"id":1}x}',
      ',',
      ' ',
      '\t',
      ', ',
      'x',
      '}',
      '[1]',
      '{"a": [1, {}]}',
    ),
  );
  const separators = fc.constantFrom<Separator>('\n', '\r\n');

  it('are the lines that JSON.parse accepts, for any chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        separators,
        fc.array(fc.array(part, { maxLength: 4 }), { maxLength: 6 }),
        fc.boolean(),
        fc.infiniteStream(fc.nat(400)),
        async (separator, lines, isEnded, places) => {
          const texts = lines.map(parts => parts.join(''));
          const bytes = Buffer.from(texts.join(separator) + (isEnded ? separator : ''));
          let at = 0;
          const expected = texts.flatMap((text, index) => {
            const lineAt = at;
            at += Buffer.byteLength(text) + separator.length;
            return split(text, index + 1, lineAt);
          });
          const whole = await framed([bytes], separator);
          const cut = cutAt(
            bytes,
            [...places.take(4)].filter(place => place <= bytes.length),
          );
          for (const found of [
            whole,
            await framed(
              cut.map(block => Buffer.from(block)),
              separator,
            ),
          ])
            for (const kind of ['record', 'damaged'])
              expect(ofKind(found, kind)).toEqual(ofKind(expected, kind));
        },
      ),
      { numRuns: bySuite(125, 20_000) },
    );
  });
});

describe('a line larger than maxBytes', () => {
  const limits = { maxBytes: 10, maxDepth: 100 };
  const read = async (blocks: readonly string[], maxSkippedBytes?: number) => {
    const records: Buffer[] = [];
    let damaged = 0;
    const onDamaged = () => {
      damaged++;
    };
    const framer = new LineFramer('\n', limits, undefined, { onDamaged, maxSkippedBytes });
    for (const block of blocks) await framer.push(Buffer.from(block), records);
    await framer.end(records);
    return { records: records.map(String), damaged };
  };

  it('gives no record of its last bytes if they look like an object', async () => {
    const blocks = ['{"list":["a long text",', '{"a":1}\n{"b":2}\n'];
    expect(await read(blocks)).toEqual({ records: ['{"b":2}'], damaged: 1 });
  });

  it('may be followed by more such lines that are together larger than maxSkippedBytes', async () => {
    const line = ['{"text":"more', 'x'.repeat(20), '"}\n'];
    const lines = [...line, ...line, ...line, '{"b":2}\n'];
    expect(await read(lines, 30)).toEqual({ records: ['{"b":2}'], damaged: 3 });
    await expect(read([...line.toSpliced(1, 0, 'x'.repeat(20))], 30)).rejects.toThrow(
      'A line has no end within',
    );
  });
});

it('LineFramer accepts a line of exactly maxBytes that is cut between two blocks', async () => {
  const records: Buffer[] = [];
  const framer = new LineFramer('\n', { maxBytes: 7, maxDepth: 100 }, undefined);
  for (const block of ['{"a":1}', '\n{"b":2}', '']) await framer.push(Buffer.from(block), records);
  await framer.end(records);
  expect(records.map(String)).toEqual(['{"a":1}', '{"b":2}']);
});

it('LineFramer names UTF-16 in its error, with and without a byte order mark', async () => {
  for (const text of ['\ufeff{"id":1}\n', '{"id":1}\n']) {
    const [little, big] = [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()];
    for (const bytes of [little, big]) {
      const framer = new LineFramer('\n', LIMITS, 'file');
      const run = async () => {
        await framer.push(bytes, []);
        await framer.end([]);
      };
      await expect(run()).rejects.toThrow(/UTF-16/);
    }
  }
});
