import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all, blocks, cutAt, cuts, filesOf, texts, until } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';

const object = fc
  .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
  .map(value => JSON.stringify(value));

describe('jsonLines', () => {
  it('returns the exact bytes of every object, for any chunk sizes and line ends', async () => {
    const line = fc.tuple(object, fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n', ' \t\r\n'));
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.array(line), fc.boolean()).chain(([lines, lastEnded]) => {
          const text = lines.map(parts => parts.join('')).join('');
          const bytes = Buffer.from(lastEnded ? text : text.trimEnd());
          return fc.record({
            objects: fc.constant(lines.map(([json]) => json)),
            parts: cuts(bytes.length).map(places => cutAt(bytes, places)),
          });
        }),
        async ({ objects, parts }) => {
          expect(await texts(jsonLines()(blocks(parts)))).toEqual(objects);
        },
      ),
    );
  });

  it('returns the same objects from one byte at a time', async () => {
    const bytes = Buffer.from('\ufeff{"a":"é\u{1f600}"}\r\n\r\n{"b":[1]}\n{"c":{}}');
    for (let place = 0; place <= bytes.length; place++)
      expect(await texts(jsonLines()(blocks(cutAt(bytes, [place]))))).toEqual([
        '{"a":"é\u{1f600}"}',
        '{"b":[1]}',
        '{"c":{}}',
      ]);
  });

  it('accepts a byte order mark at the start of a file, but not on a later line', async () => {
    const mark = '\ufeff';
    const files = filesOf([Buffer.from(`${mark}{"a":1}\n`)], [Buffer.from(`${mark}{"b":2}\n`)]);
    expect(await texts(jsonLines()(files))).toEqual(['{"a":1}', '{"b":2}']);
    for (const [text, line, whole] of [
      [`{"a":1}\n${mark}{"b":2}\n`, 2, ['{"a":1}']],
      [`\n${mark}{"b":2}\n`, 2, []],
      [`${mark}${mark}{"b":2}\n`, 1, []],
      [`{"a":1}\n{"b":2}\n${mark}{"c":3}\n`, 3, ['{"a":1}', '{"b":2}']],
    ] as const) {
      const bytes = Buffer.from(text);
      for (let place = 0; place <= bytes.length; place++) {
        const { items, error } = await until(jsonLines()(blocks(cutAt(bytes, [place]))));
        expect(items.map(String)).toEqual(whole);
        expect(error).toMatchObject({ code: 'ERR_DATA', position: { line } });
      }
    }
  });

  it('does not copy an object that is within one block', async () => {
    const block = Buffer.from('{"a":1}\n{"b":2}\n');
    const records = await all(jsonLines()(blocks([block])));
    expect(records.map(record => [record.buffer, record.byteOffset - block.byteOffset])).toEqual([
      [block.buffer, 0],
      [block.buffer, 8],
    ]);
  });

  it('delivers each object as soon as its line has ended', async () => {
    const seen: string[] = [];
    const live = new (class implements AsyncIterable<Uint8Array> {
      async *[Symbol.asyncIterator]() {
        yield Buffer.from('{"a":1}\r\n{"b"');
        expect(seen).toEqual(['{"a":1}']);
        yield Buffer.from(':2}\r\n');
        expect(seen).toEqual(['{"a":1}', '{"b":2}']);
      }
    })();
    for await (const record of jsonLines()(live)) seen.push(record.toString());
    expect(seen).toHaveLength(2);
  });

  it('accepts a bare LF within an object if CRLF separates the objects', async () => {
    const bytes = Buffer.from('\r\n{"a":1,\n"b":2}\r\n{\n}\r\n\r\n{"c":3}');
    for (let place = 0; place <= bytes.length; place++)
      expect(await texts(jsonLines({ separator: '\r\n' })(blocks(cutAt(bytes, [place]))))).toEqual([
        '{"a":1,\n"b":2}',
        '{\n}',
        '{"c":3}',
      ]);
  });

  it('accepts a bare LF within an object of a stored file if CRLF separates the objects', async () => {
    const folder = await temporaryFolder();
    const file = path.join(folder, 'stream.json');
    await writeFile(file, '{"id":1,\n"created_at":"x"}\r\n{"id":2}\r\n');
    const cut = [
      gunzip({ plain: 'pass' }),
      jsonLines({ separator: '\r\n' }),
      activities(),
    ] as const;
    const written = path.join(folder, 'written.jsonl');
    await pipeline(localFiles(file), ...cut, files({ path: written }));
    expect(await readFile(written, 'utf8')).toBe('{"id":1, "created_at":"x"}\n{"id":2}\n');
  });

  it('accepts a complete last line of a file without a line end', async () => {
    const files = filesOf(
      [Buffer.from('{"a":1}\n{"b'), Buffer.from('":2}')],
      [Buffer.from('\ufeff{"c":3}')],
      [],
      [Buffer.from('{"d":4}\n')],
    );
    const batches = [];
    for await (const batch of jsonLines()(files).batches()) batches.push(batch);
    expect(batches.map(({ items, cursor }) => [items.map(String), cursor])).toEqual([
      [['{"a":1}'], undefined],
      [['{"b":2}'], { file: 1 }],
      [['{"c":3}'], { file: 2 }],
      [[], { file: 3 }],
      [['{"d":4}'], { file: 4 }],
    ]);
  });

  it.each(['{"a":1', '{"a":{"b":1}', '{"a":"}', '{"a":"\\u00}', '{', 'null'])(
    'fails for the incomplete last line %s, after it delivers the lines before it',
    async tail => {
      const files = filesOf([Buffer.from('{"a":1}\n'), Buffer.from(tail)], [Buffer.from('{}')]);
      const { items, error } = await until(jsonLines()(files));
      expect(items.map(String)).toEqual(['{"a":1}']);
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'file 0', line: 2, byteOffset: 8 } });
    },
  );

  it('fails with the position of a line that is not an object', async () => {
    const { items, error } = await until(
      jsonLines()(blocks([Buffer.from('{"a":1}\r\n\r\n[1,'), Buffer.from('2]\n{"b":2}\n')])),
    );
    expect(items.map(String)).toEqual(['{"a":1}']);
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({
      message:
        'Expected a JSON object on each line: "[1,2]" (in memory, line 3, byte 11). jsonArray() reads a document that is an array',
      position: { line: 3, byteOffset: 11 },
    });
  });

  it('fails for a line longer than maxBytes before the line ends', async () => {
    async function* endless() {
      while (true) yield Buffer.alloc(1000, 0x61);
    }
    const endlessly = await until(jsonLines({ maxBytes: 10_000 })(endless()));
    expect(endlessly.error).toBeInstanceOf(DataError);
    const atOnce = await until(
      jsonLines({ maxBytes: 7 })(blocks([Buffer.from('{"a":1}\n{"a":12}\n')])),
    );
    expect(atOnce.items.map(String)).toEqual(['{"a":1}']);
    expect(atOnce.error).toMatchObject({
      message: 'A line is larger than 7 bytes (`maxBytes`) (in memory, line 2, byte 8)',
    });
  });

  it('skips only the line that is too large, for any chunk sizes', async () => {
    const bytes = Buffer.from(`{"a":1}\n{"b":"${'x'.repeat(20)}"} \n{"c":3}\n \n{"d":4}\n`);
    for (let place = 0; place <= bytes.length; place++) {
      const told: number[] = [];
      const onDamaged = ({ line }: { line?: number | undefined }) => void told.push(line ?? 0);
      const read = jsonLines({ maxBytes: 10, onDamaged });
      expect(await texts(read(blocks(cutAt(bytes, [place]))))).toEqual([
        '{"a":1}',
        '{"c":3}',
        '{"d":4}',
      ]);
      expect(told).toEqual([2]);
    }
  });

  it('fails for exactly the lines that nest deeper than maxDepth', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc
            .letrec(tie => ({
              value: fc.oneof(
                { maxDepth: 8, depthSize: 'xlarge', withCrossShrink: true },
                fc.constantFrom('1', '"[{"', '"\\""', '""'),
                fc.array(tie('value'), { maxLength: 3 }).map(items => `[${items.join(',')}]`),
                tie('value').map(value => `{"[":${value}}`),
              ),
            }))
            .value.map(value => `{"a":${value}}`),
          { minLength: 1 },
        ),
        fc.integer({ min: 1, max: 8 }),
        async (lines, maxDepth) => {
          const fits = lines.findIndex(line => depthOf(JSON.parse(line)) > maxDepth);
          const flow = jsonLines({ maxDepth })(blocks([Buffer.from(lines.join('\n'))]));
          if (fits === -1) {
            expect(await texts(flow)).toEqual(lines);
            return;
          }
          const { items, error } = await until(flow);
          expect(items.map(String)).toEqual(lines.slice(0, fits));
          expect(error).toMatchObject({ code: 'ERR_DATA', position: { line: fits + 1 } });
        },
      ),
    );
  });

  it.each(range(1, 12))(
    'accepts a line of exactly maxDepth %i, and fails for a deeper one',
    async maxDepth => {
      const shapes: readonly ((depth: number) => string)[] = [
        depth => `${'{"":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`,
        depth => (depth === 1 ? '{}' : `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`),
        depth =>
          `{"s":"[[{{","a":${depth === 1 ? 1 : '['.repeat(depth - 1) + ']'.repeat(depth - 1)}}`,
        depth =>
          `{"a":[],"b":${depth === 1 ? 1 : '['.repeat(depth - 1) + ']'.repeat(depth - 1)},"c":[]}`,
      ];
      for (const shape of shapes) {
        const limit = Math.max(maxDepth, depthOf(JSON.parse(shape(1))));
        const fits = shape(limit);
        expect(depthOf(JSON.parse(fits))).toBe(limit);
        const read = jsonLines({ maxDepth: limit });
        expect(await texts(read(blocks([Buffer.from(`${fits}\n`)])))).toEqual([fits]);
        const { error } = await until(read(blocks([Buffer.from(`${shape(limit + 1)}\n`)])));
        expect(error).toMatchObject({ code: 'ERR_DATA', position: { line: 1 } });
      }
    },
  );

  it('fails with advice for gzip and for items that are not bytes', async () => {
    const gzip = await until(jsonLines()(blocks([gzipSync('{"a":1}\n')])));
    expect(gzip.error).toMatchObject({ message: expect.stringContaining('put gunzip() first') });
    const text = Readable.from(['{"a":1}\n']) as AsyncIterable<Buffer>;
    for (const flow of [jsonLines()(text), gunzip()(Readable.from(['text']))]) {
      const { error } = await until<Buffer>(flow);
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/got a string\..*: do not set an encoding$/),
      });
    }
  });

  it.each(['[{"a":1},{"a":2}]', '[{"a":1},{"a":2}]\n', '[\n{"a":1}\n]'])(
    'names jsonArray() in the error for the array %j',
    async text => {
      const { error } = await until(jsonLines()(blocks([Buffer.from(text)])));
      expect(error).toMatchObject({
        message: expect.stringContaining('jsonArray() reads a document that is an array'),
      });
    },
  );

  it('throws an OptionError for wrong options', () => {
    expect(() => jsonLines({ maxBytes: 0 })).toThrow(OptionError);
    expect(() => jsonLines({ maxDepth: 1.5 })).toThrow(OptionError);
    expect(() => jsonLines({ separator: ';' as '\n' })).toThrow(OptionError);
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
