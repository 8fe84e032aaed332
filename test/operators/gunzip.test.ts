import { once } from 'node:events';
import { Readable } from 'node:stream';
import { constants, createGzip, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { batchesOf, Flow } from '../../src/flow/flow.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { all, blocks, cutAt, cuts, filesOf, until } from '../json/cut.js';
import { bySuite } from '../suite.js';

const content = fc.oneof(
  fc.uint8Array(),
  fc.string({ maxLength: 300 }).map(text => Buffer.from(text.repeat(50))),
);
const file = fc
  .tuple(fc.array(content, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 0, 1, 512))
  .map(([members, zeros]) => ({
    gzip: Buffer.concat([...members.map(member => gzipSync(member)), Buffer.alloc(zeros)]),
    plain: Buffer.concat(members),
  }));

async function inflated(flow: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await all(flow));
}

describe('gunzip', () => {
  it('returns the original bytes of any file, for any chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        file.chain(({ gzip, plain }) =>
          fc.tuple(
            cuts(gzip.length).map(places => cutAt(gzip, places)),
            fc.constant(plain),
          ),
        ),
        async ([parts, plain]) => {
          expect(await inflated(gunzip()(blocks(parts)))).toEqual(plain);
        },
      ),
    );
  });

  it('keeps the cursor and the origin of every file, whether it arrives in one batch or several', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          file.chain(({ gzip, plain }) =>
            fc.tuple(
              cuts(gzip.length).map(places => cutAt(gzip, places)),
              fc.constant(plain),
            ),
          ),
        ),
        async cases => {
          const files: Buffer[] = [];
          let under: Buffer[] = [];
          for await (const { items, cursor, origin } of gunzip()(
            filesOf(...cases.map(([parts]) => parts)),
          ).batches()) {
            expect(origin).toBe(`file ${files.length}`);
            under.push(...items);
            if (cursor === undefined) continue;
            files.push(Buffer.concat(under));
            under = [];
            expect(cursor).toEqual({ file: files.length });
          }
          expect(under).toEqual([]);
          expect(files).toEqual(cases.map(([, plain]) => plain));
        },
      ),
    );
  });

  const two = [gzipSync('one'), gzipSync(Buffer.from('two'.repeat(100)))] as const;
  const both = Buffer.concat(two);

  it('fails with the name and length of a file that is truncated at any byte', async () => {
    for (let end = 0; end < both.length; end++) {
      if (end === two[0].length) continue; // cut between members, which leaves a valid file
      const cut = both.subarray(0, end);
      for (const parts of [[cut], [cut.subarray(0, end >> 1), cut.subarray(end >> 1)]]) {
        const { items, error } = await until(gunzip()(filesOf(parts, [gzipSync('next')])));
        expect(error, `cut at ${end}`).toBeInstanceOf(DataError);
        expect(error).toMatchObject({
          message: `The gzip data is cut short (in file 0, byte ${end})`,
          position: { origin: 'file 0', byteOffset: end },
        });
        expect(`one${'two'.repeat(100)}`).toContain(Buffer.concat(items).toString());
      }
    }
  });

  it('fails for input without file boundaries that is truncated at any byte', async () => {
    for (let end = 1; end < both.length; end++)
      if (end !== two[0].length)
        expect((await until(gunzip()(blocks([both.subarray(0, end)])))).error).toBeInstanceOf(
          DataError,
        );
    expect(await all(gunzip()(blocks([])))).toEqual([]);
  });

  it('delivers everything it can inflate before it fails for a truncated file', async () => {
    const text = Array.from({ length: 5000 }, (_, i) => `line ${i * 7919}`).join('\n');
    const gzip = gzipSync(text);
    const { items } = await until(gunzip()(filesOf([gzip.subarray(0, -1)])));
    expect(Buffer.concat(items).toString()).toBe(text);
  });

  it('fails if a bit is flipped in any byte that affects the data', async () => {
    const plain = 'plain text, and more of it '.repeat(5);
    const gzip = gzipSync(plain);
    for (let at = 0; at < gzip.length; at++) {
      if (at >= 4 && at <= 9) continue; // these header bytes do not affect the content
      for (const bit of [1, 16, 128]) {
        const flipped = Buffer.from(gzip);
        flipped[at]! ^= bit;
        for (const parts of [[flipped], cutAt(flipped, [at])]) {
          // A changed bit in the header can announce an additional header field, whose bytes are
          // then taken from the data. The result must be the original data or an error.
          const outcome = await until(gunzip()(filesOf(parts))).then(
            ({ error }) => error,
            async () => Buffer.from(await inflated(gunzip()(filesOf(parts)))).toString(),
          );
          if (typeof outcome === 'string') expect(outcome, `byte ${at} bit ${bit}`).toBe(plain);
          else expect(outcome, `byte ${at} bit ${bit}`).toBeInstanceOf(DataError);
        }
      }
    }
  });

  it.each([
    ['text', Buffer.from('junk')],
    ['zeros and text', Buffer.from('\0\0\0junk')],
    ['one byte', Buffer.from([0x1f])],
    ['a second header of another kind', Buffer.from([0x1f, 0x8b, 0x09])],
  ])('fails for %s after the end of the data', async (_, junk) => {
    const bytes = Buffer.concat([gzipSync('data'), junk]);
    for (let place = 0; place <= bytes.length; place++) {
      const { items, error } = await until(gunzip()(filesOf(cutAt(bytes, [place]))));
      expect(error, `cut at ${place}`).toBeInstanceOf(DataError);
      expect('data').toContain(Buffer.concat(items).toString());
    }
  });

  it("fails with advice for a file that is not gzip, but passes the file unchanged with `plain: 'pass'`", async () => {
    const files = filesOf(
      [Buffer.from('{"a":1}')],
      [Buffer.from('{"b'), Buffer.from('":2}')],
      [gzipSync('{"c":3}')],
      [Buffer.alloc(0)],
    );
    const { error } = await until(gunzip()(files));
    expect(error).toMatchObject({
      message:
        "This is not gzip. Remove gunzip(), or use gunzip({ plain: 'pass' }) if only some files are (in file 0, byte 0)",
    });
    expect(String(await inflated(gunzip({ plain: 'pass' })(files)))).toBe('{"a":1}{"b":2}{"c":3}');
  });

  it('delivers each message of a live stream as soon as it arrives', async () => {
    const gzip = createGzip();
    let compressed: Buffer[] = [];
    gzip.on('data', chunk => compressed.push(chunk));
    const seen: string[] = [];
    async function* live() {
      for (const message of ['{"a":1}\r\n', '\r\n', '{"b":2}\r\n']) {
        gzip.write(message);
        await new Promise<void>(resolve => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
        yield Buffer.concat(compressed);
        compressed = [];
        // The next read starts before the message arrives, and must resolve soon after it has
        // arrived.
        for (let i = 0; i < 20 && seen.at(-1) !== message; i++) await new Promise(setImmediate);
        expect(seen.at(-1)).toBe(message);
      }
      gzip.end();
      await once(gzip, 'end');
      yield Buffer.concat(compressed);
    }
    for await (const block of gunzip()(live())) seen.push(block.toString());
    expect(seen).toHaveLength(3);
  });

  it('needs a few MiB of memory for hundreds of MiB of zeros', async () => {
    const member = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 1 });
    const bomb = Buffer.concat(Array.from({ length: bySuite(4, 16) }, () => member));
    let bytes = 0;
    let largest = 0;
    for await (const { items } of gunzip()(filesOf([bomb])).batches())
      for (const block of items) {
        bytes += block.length;
        largest = Math.max(largest, block.buffer.byteLength);
      }
    expect(bytes).toBe(bySuite(2 ** 28, 2 ** 30));
    expect(largest).toBeLessThan(8 * 1024 * 1024);
  });

  it('needs little memory for a decompression bomb, both in a whole file and in a stream', async () => {
    const size = bySuite(96, 256) * 2 ** 20;
    const bomb = gzipSync(Buffer.alloc(size));
    const half = bomb.length >> 1;
    for (const [input, read, most] of [
      [filesOf([bomb]), batchesOf<Buffer>, 17],
      [filesOf([bomb.subarray(0, half), bomb.subarray(half)]), batchesOf<Buffer>, 17],
      [[bomb.subarray(0, half), bomb.subarray(half)], batchesOf<Buffer>, 17],
    ] as const) {
      let total = 0;
      let largest = 0;
      const bytes = Array.isArray(input) ? Readable.from(input) : (input as AsyncIterable<Buffer>);
      for await (const { items } of read(gunzip()(bytes))) {
        const together = items.reduce((sum, { length }) => sum + length, 0);
        total += together;
        largest = Math.max(largest, together);
      }
      expect(total).toBe(size);
      expect(largest).toBeLessThanOrEqual(most * 2 ** 20);
    }
  });

  it('fails for exactly the files that inflate to more than maxBytes', async () => {
    for (const size of [1_000, 3_000_000]) {
      const gzip = gzipSync(Buffer.alloc(size));
      for (const parts of [[gzip], [gzip.subarray(0, 20), gzip.subarray(20)]]) {
        const file = filesOf(parts);
        expect(await inflated(gunzip({ maxBytes: size })(file))).toHaveLength(size);
        const { error } = await until(gunzip({ maxBytes: size - 1 })(file));
        expect(error).toBeInstanceOf(DataError);
        expect(error).toMatchObject({ message: expect.stringContaining('(`maxBytes`)') });
      }
    }
  });

  it('reads only a few files ahead of its consumer', async () => {
    let read = 0;
    const gzip = gzipSync('x');
    const source = new Flow<Uint8Array>(async function* () {
      for (; read < 50; ) yield { items: [gzip], cursor: { file: ++read } };
    });
    let taken = 0;
    for await (const _ of gunzip()(source).batches()) {
      taken++;
      await new Promise(setImmediate);
      expect(read - taken).toBeLessThanOrEqual(3);
    }
    expect(taken).toBe(50);
  });

  it('delivers everything that it received before its input failed, and then rejects with that error', async () => {
    const failure = new Error('the source failed');
    const source = new Flow<Uint8Array>(async function* () {
      yield { items: [gzipSync('one')], cursor: { file: 1 } };
      yield { items: [gzipSync('two')], cursor: { file: 2 } };
      throw failure;
    });
    const { items, error } = await until(gunzip()(source));
    expect(items.map(String)).toEqual(['one', 'two']);
    expect(error).toBe(failure);
  });

  it('closes its input when its consumer stops', async () => {
    let closed = 0;
    const source = new Flow<Uint8Array>(async function* () {
      try {
        while (true) yield { items: [gzipSync('x')], cursor: {} };
      } finally {
        closed++;
      }
    });
    for await (const _ of gunzip()(source)) break;
    expect(closed).toBe(1);
  });

  it('throws an OptionError for wrong options', () => {
    expect(() => gunzip({ plain: 'maybe' as 'pass' })).toThrow(OptionError);
    expect(() => gunzip({ maxBytes: -1 })).toThrow(OptionError);
  });
});
