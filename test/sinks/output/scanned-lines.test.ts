import { expect, it } from 'vitest';
import { parsePathTemplate } from '../../../src/sinks/output/path-template.js';
import { ScannedLines } from '../../../src/sinks/output/scanned-lines.js';

it('posts with more combinations of tags and keys than 32 bits are left to the main thread', () => {
  const opened: string[] = [];
  const outputs = { open: (path: string) => opened.push(path) } as never;
  const lines = new ScannedLines(outputs, parsePathTemplate('files', '{author}/{tag}'), 10);
  const names = Array.from({ length: 70_000 }, (_, index) => String(index));
  // The last 32 bits of these two combinations are the same: 61,356 * 70,000 + 47,296 is 2 ** 32.
  const [keys, tags] = [Uint32Array.of(0, 47_296), Uint32Array.of(0, 61_356)];
  const columns = { keys, keySets: names.map(name => [name]), lengths: Uint32Array.of(2, 2) };
  const file = { bytes: 2 ** 30, columns } as never;
  const items = { file, rows: Uint32Array.of(0, 1), tags, tagNames: names };
  expect(lines.write(items, undefined, () => {})).toBe(false);
  expect(opened).toEqual([]);
});
