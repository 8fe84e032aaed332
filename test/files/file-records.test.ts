import { expect, it } from 'vitest';
import { FileRecords } from '../../src/files/file-records.js';

const kind = { name: 'text', mark: () => 0, item: (record: Buffer) => record.toString() };

it('FileRecords keeps the position and the mark of every record while it grows', () => {
  const content = Buffer.from(Array.from({ length: 200 }, (_, n) => `${n}\n`).join(''));
  const rows = new FileRecords(content, kind, 1);
  let at = 0;
  for (let n = 0; n < 200; n++) {
    rows.add(at, String(n).length, 3 * n);
    at += String(n).length + 1;
  }
  expect(Array.from({ length: 200 }, (_, n) => rows.newItem(n))).toEqual(
    Array.from({ length: 200 }, (_, n) => String(n)),
  );
  expect([...rows.marks.subarray(0, 200)]).toEqual(Array.from({ length: 200 }, (_, n) => 3 * n));
  const seen: string[] = [];
  rows.each((_, bytes, start, end) => seen.push(bytes.toString('latin1', start, end)));
  expect(seen).toHaveLength(200);
});

it('FileRecords skips records that a column has dropped', () => {
  const rows = new FileRecords(Buffer.from('a\nb\nc\n'), kind, 3);
  for (const start of [0, 2, 4]) rows.add(start, 1);
  rows.lengths[1] = 0;
  const seen: number[] = [];
  rows.each(row => seen.push(row));
  expect(seen).toEqual([0, 2]);
});

it('FileRecords creates the item of a record only once for all columns', () => {
  const rows = new FileRecords(Buffer.from('{"a":1}\n'), { ...kind, item: () => ({}) }, 1);
  rows.add(0, 7);
  const item = rows.item(0);
  expect(rows.item(0)).toBe(item);
  expect(rows.newItem(0)).not.toBe(item);
  rows.forgetItems();
  expect(rows.item(0)).not.toBe(item);
});

it('FileRecords writes each record as a line that ends in LF, whatever byte separates the records', () => {
  const rows = new FileRecords(Buffer.from('{"a":1}\n{"a":2} {"a":3}\r{"a":4}'), kind, 4);
  for (const start of [0, 8, 16, 24]) rows.add(start, 7);
  const lines = (...list: number[]) =>
    Buffer.concat(rows.lines(Uint32Array.from(list), 0, list.length)).toString();
  expect(lines(0, 1, 2, 3)).toBe('{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}\n');
  expect(lines(1, 3)).toBe('{"a":2}\n{"a":4}\n');
});
