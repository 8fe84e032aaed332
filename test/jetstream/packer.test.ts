import fc from 'fast-check';
import { DataError } from 'millrace';
import { describe, expect, it } from 'vitest';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { HEADERS, type HeaderReader, type Headers, postsOf } from '../../src/jetstream/message.js';
import {
  addedBytes,
  fits,
  type Outgoing,
  pack,
  SubjectBatches,
} from '../../src/jetstream/packer.js';

const reader = (headers: Headers): HeaderReader => ({
  get: name => headers.find(([key]) => key === name)?.[1] ?? '',
});

const items = fc.array(
  fc.record({
    id: fc.bigInt({ min: 1n, max: 2n ** 64n }).map(String),
    payload: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    format: fc.constantFrom(undefined, 'original'),
    tags: fc.array(fc.string(), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 20 },
);

const compressions = [undefined, 'gzip' as const, ...(nodeZstd ? ['zstd' as const] : [])];

const OPTIONS = { posts: 100, maxBytes: 1 << 20, waitMs: 10, compression: undefined };

describe('a message that packs several posts', () => {
  it.each(compressions)('keeps the exact bytes of its posts: %s', async compression => {
    await fc.assert(
      fc.asyncProperty(items, async batch => {
        const { payload, headers } = await pack(batch, compression);
        const posts = await postsOf(payload, reader(headers));
        expect(posts.map(post => Buffer.from(post))).toEqual(
          batch.map(item => Buffer.from(item.payload)),
        );
        expect(reader(headers).get(HEADERS.ids)).toBe(batch.map(({ id }) => id).join(','));
        // A line break in a value would end the header line.
        for (const [, value] of headers) expect(value).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it('states the format of its posts only if they all have the same format', async () => {
    const itemOf = (format: Outgoing['format']): Outgoing => ({
      id: '1',
      payload: Buffer.from('{}'),
      format,
      tags: [],
    });
    const ours = itemOf('original');
    const other = itemOf('activity_streams');
    const unknown = itemOf(undefined);
    const formatOf = async (...batch: Outgoing[]) =>
      reader((await pack(batch, undefined)).headers).get(HEADERS.format);
    expect(await formatOf(ours, ours)).toBe('original');
    expect(await formatOf(ours, other)).toBe('');
    expect(await formatOf(ours, unknown)).toBe('');
    expect(await formatOf(unknown, ours)).toBe('');
  });

  it('is never larger than its estimated size, headers included', async () => {
    await fc.assert(
      fc.asyncProperty(items, async batch => {
        const { payload, headers } = await pack(batch, undefined);
        const size = headers.reduce(
          (sum, [name, value]) => sum + name.length + 4 + Buffer.byteLength(value),
          payload.length,
        );
        const estimate = batch.reduce((sum, item) => sum + addedBytes(item), 0);
        expect(fits(OPTIONS, 1, estimate, size - 1)).toBe(false);
        expect(fits(OPTIONS, 1, estimate, estimate + 1024)).toBe(true);
      }),
    );
  });

  it.each([
    ['lengths that differ from those of its posts', [[HEADERS.lengths, '3,4']], 'abc'],
    ['lengths that are not numbers', [[HEADERS.lengths, '3,x']], 'abc\nde'],
    [
      'an unknown compression',
      [
        [HEADERS.lengths, '3'],
        [HEADERS.encoding, 'lzma'],
      ],
      'abc',
    ],
    [
      'damaged gzip',
      [
        [HEADERS.lengths, '3'],
        [HEADERS.encoding, 'gzip'],
      ],
      'abc',
    ],
    [
      'a compression that has the name of a member of every object',
      [
        [HEADERS.lengths, '3'],
        [HEADERS.encoding, 'constructor'],
      ],
      'abc',
    ],
  ] as const)('causes an error when it is unpacked with %s', async (_, headers, payload) => {
    await expect(postsOf(Buffer.from(payload), reader(headers))).rejects.toThrow(DataError);
  });
});

describe('items that wait to be packed into a message', () => {
  const item = (id: string): Outgoing => ({
    id,
    payload: Buffer.alloc(1000),
    format: undefined,
    tags: [],
  });

  function sentAtOnce(options: Partial<typeof OPTIONS>, ids: readonly string[]): string[][] {
    const sent: string[][] = [];
    const batches = new SubjectBatches(
      { ...OPTIONS, waitMs: 60_000, ...options },
      () => 1 << 20,
      (_subject, all) => sent.push(all.map(({ id }) => id)),
    );
    for (const id of ids) batches.add(0, item(id));
    batches.close();
    return sent;
  }

  it('are sent immediately with the item that fills the message', () => {
    expect(sentAtOnce({ posts: 2 }, ['1', '2'])).toEqual([['1', '2']]);
    expect(sentAtOnce({ maxBytes: 2 * addedBytes(item('1')) }, ['1', '2'])).toEqual([['1', '2']]);
  });

  it('are sent after `waitMs` even if earlier items were sent after it', async () => {
    const sent: string[][] = [];
    const batches = new SubjectBatches(
      OPTIONS,
      () => 1 << 20,
      (_subject, all) => sent.push(all.map(({ id }) => id)),
    );
    for (const id of ['1', '2', '3']) {
      batches.add(0, item(id));
      await expect.poll(() => sent.at(-1)).toEqual([id]);
    }
    batches.close();
    expect(sent).toEqual([['1'], ['2'], ['3']]);
  });

  it('are sent before an item that no longer fits into the message', () => {
    expect(sentAtOnce({ maxBytes: 2 * addedBytes(item('1')) - 1 }, ['1', '2'])).toEqual([['1']]);
  });
});
