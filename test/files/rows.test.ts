import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { FileRows } from '../../src/files/file-rows.js';
import { Rows } from '../../src/files/rows.js';
import { POSTS } from '../../src/operators/activities.js';
import type { Activity } from '../../src/post/activity.js';

const lineOf = (row: number) => `{"id_str":"${row}"}`;

function rowsOf(count: number): Rows {
  const lines = Array.from({ length: count }, (_, row) => `${lineOf(row)}\n`);
  const rows = new FileRows(Buffer.from(lines.join('')), POSTS, count);
  let start = 0;
  for (const line of lines) {
    rows.add(start, line.length - 1);
    start += line.length;
  }
  return Rows.of(new DecodedFile('x', { rows, columns: new Map(), messages: [] }));
}

const idsOf = async (rows: Rows) => ((await rows.items()) as Activity[]).map(({ id }) => id);

describe('rows of a decoded file', () => {
  it('keep those that pass a test, and a part of them, as an array does', async () => {
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

  it('come as routed posts once they are routed, also a part of them', async () => {
    const routed = rowsOf(2).routed(
      Uint32Array.of(0, 0, 1),
      Uint32Array.of(1, 2, 0),
      ['-', 'a', 'b'],
      (tag, post) => [tag, (post as Activity).id],
    );
    expect(await routed.slice(1, 3).items()).toEqual([
      ['b', '0'],
      ['-', '1'],
    ]);
  });

  it('have longer and shorter posts in the place of some', async () => {
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

  it('stay as they are where nothing is to be replaced', async () => {
    const rows = rowsOf(2);
    await rows.file.replace(new Map());
    expect(await idsOf(rows)).toEqual(['0', '1']);
  });
});
