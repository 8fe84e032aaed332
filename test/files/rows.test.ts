import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { FileRecords } from '../../src/files/file-records.js';
import type { RecordColumn } from '../../src/files/record-columns.js';
import { ItemColumns, ItemRows, StoredRows } from '../../src/files/rows.js';
import { POSTS } from '../../src/operators/activities.js';
import { Activity } from '../../src/post/activity.js';

const lineOf = (row: number) => `{"id_str":"${row}"}`;

function rowsOf(count: number): StoredRows {
  const lines = Array.from({ length: count }, (_, row) => `${lineOf(row)}\n`);
  const rows = new FileRecords(Buffer.from(lines.join('')), POSTS, count);
  let start = 0;
  for (const line of lines) {
    rows.add(start, line.length - 1);
    start += line.length;
  }
  return StoredRows.of(new DecodedFile('x', { rows, columns: new Map(), messages: [] }));
}

const idsOf = async (rows: StoredRows) => ((await rows.items()) as Activity[]).map(({ id }) => id);

describe('ItemRows', () => {
  const NUMBERS: RecordColumn<number[], undefined> = {
    kind: {
      name: 'numbers',
      create: () => rows =>
        Array.from({ length: rows.count }, (_, row) => Number((rows.item(row) as Activity).id)),
    },
    options: undefined,
  };
  const itemRows = (count: number) =>
    new ItemRows(
      Array.from({ length: count }, (_, row) => new Activity(Buffer.from(lineOf(row)))),
      new ItemColumns(),
    );
  const ids = ({ items }: ItemRows) => items.map(item => (item as Activity).id);

  it('filters and slices items in the same way as FileRecords', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 200 }),
        fc.integer({ min: 1, max: 5 }),
        async (count, step) => {
          const passes = (row: number) => row % step === 0;
          const stored = rowsOf(count).filter(passes).slice(0, 30);
          const left = itemRows(count).filter(passes).slice(0, 30);
          expect(ids(left)).toEqual(await idsOf(stored));
          expect(left.column(NUMBERS).map(String)).toEqual(ids(left));
        },
      ),
    );
  });

  it('has a length, a start and a mark for each item, for any number of items', () => {
    for (const count of [1, 63, 64, 65, 129, 300, 1_000]) {
      const { lengths, starts, marks } = itemRows(count);
      const each = (numbers: Uint32Array) =>
        Array.from({ length: count }, (_, row) => numbers[row]);
      expect([count, new Set(each(lengths))]).toEqual([count, new Set([1])]);
      expect([count, new Set([...each(starts), ...each(marks)])]).toEqual([count, new Set([0])]);
    }
  });

  it('replaces items in a copy, not in place', async () => {
    const rows = itemRows(3);
    const [, , last] = rows.items;
    expect(ids(await rows.replaced(new Map([[0, last]])))).toEqual(['2', '1', '2']);
    expect(ids(rows)).toEqual(['0', '1', '2']);
  });

  it('returns the bytes of its items, or the bytes that a column has written', async () => {
    const rows = itemRows(3);
    expect((await rows.records(Uint32Array.of(2))).map(String)).toEqual([lineOf(2)]);
    const seen: string[] = [];
    rows.each((row, content, start, end) =>
      seen.push(`${row} ${content.toString('latin1', start, end)}`),
    );
    expect(seen).toEqual([`0 ${lineOf(0)}`, `1 ${lineOf(1)}`, `2 ${lineOf(2)}`]);
    const content = Buffer.from(`${lineOf(8)}${lineOf(9)}`);
    const { length } = lineOf(8);
    const written = {
      content,
      starts: Uint32Array.of(0, 0, length),
      lengths: Uint32Array.of(length, 0, length),
    };
    rows.rewrite(written, record => new Activity(record));
    expect(ids(rows.filter(row => row !== 1))).toEqual(['8', '9']);
    seen.length = 0;
    rows.each((row, bytes, start, end) =>
      seen.push(`${row} ${bytes.toString('latin1', start, end)}`),
    );
    expect(seen).toEqual([`0 ${lineOf(8)}`, `2 ${lineOf(9)}`]);
  });
});

describe('the posts of a decoded file', () => {
  it('can be filtered and sliced like an array', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 40 }),
        fc.integer({ min: 1, max: 5 }),
        fc.nat({ max: 40 }),
        fc.nat({ max: 40 }),
        async (count, step, from, to) => {
          const passes = (row: number) => row % step === 0;
          const all = Array.from({ length: count }, (_, row) => row);
          const expected = all.filter(passes);
          const filtered = rowsOf(count).filter(passes);
          expect(filtered.count).toBe(expected.length);
          const some = filtered.slice(Math.min(from, filtered.count), Math.min(to, filtered.count));
          expect(await idsOf(some)).toEqual(expected.slice(from, to).map(String));
        },
      ),
    );
  });

  it('are routed with their tags, even in a slice', async () => {
    const routed = rowsOf(2).routed(Uint32Array.of(1, 0), [['-'], ['a', 'b']], (tag, post) => [
      tag,
      (post as Activity).id,
    ]);
    expect(await routed.slice(1, 3).items()).toEqual([
      ['b', '0'],
      ['-', '1'],
    ]);
  });

  it('can be replaced by longer and shorter posts', async () => {
    const rows = rowsOf(3);
    const [long, short] = [rowsOf(1_001).slice(1_000, 1_001), rowsOf(3).slice(2, 3)];
    const [first] = await long.items();
    const [second] = await short.items();
    await rows.file.replace(
      new Map([
        [0, first as never],
        [2, second as never],
      ]),
    );
    expect(await idsOf(rows)).toEqual(['1000', '1', '2']);
    expect((await rows.file.records(Uint32Array.of(0, 2))).map(String)).toEqual([
      lineOf(1_000),
      lineOf(2),
    ]);
  });

  it('stay unchanged if no post is replaced', async () => {
    const rows = rowsOf(2);
    await rows.file.replace(new Map());
    expect(await idsOf(rows)).toEqual(['0', '1']);
  });
});
