import { expect, it } from 'vitest';
import type { DecodedFile } from '../../../src/files/decoded-file.js';
import { StoredRows } from '../../../src/files/rows.js';
import { linesFormat } from '../../../src/sinks/write/format.js';
import { type PathKeys, pathKeys } from '../../../src/sinks/write/path-keys.js';
import { parsePathTemplate } from '../../../src/sinks/write/path-template.js';
import { RowWriter } from '../../../src/sinks/write/row-writer.js';
import { unchecked } from '../../unchecked.js';

const KEYS = pathKeys([]);
const optionsOf = (template: string) =>
  ({
    path: parsePathTemplate('files', template),
    maxOpen: 10,
    format: linesFormat({ encode: () => new Uint8Array() }),
    encoding: {},
    encodingNumber: 0,
    keys: KEYS,
  }) as const;

function fileOf(keys: Omit<PathKeys, 'byText'>): DecodedFile {
  const rows = {
    count: keys.indexes.length,
    lengths: new Uint32Array(keys.indexes.length).fill(2),
  };
  const columns = new Map([[KEYS, keys]]);
  return unchecked({ bytes: 2 ** 30, rows, columns, isInThread: true, release() {} });
}

it('RowWriter leaves posts to the main thread if they have more than 2^32 combinations of tags and paths', async () => {
  const opened: string[] = [];
  const outputs = unchecked({ open: (path: string) => opened.push(path) });
  const lines = new RowWriter(outputs, optionsOf('{author}/{tag}'));
  const names = Array.from({ length: 70_000 }, (_, index) => String(index));
  // These two keys have the same lower 32 bits, because 61,356 * 70,000 + 47,296 is 2 ** 32.
  const [keys, tags] = [Uint32Array.of(0, 47_296), Uint32Array.of(0, 61_356)];
  const file = fileOf({ names: ['author'], indexes: keys, sets: names.map(name => [name]) });
  const tagSets = names.map(name => [name]);
  const items = StoredRows.of(file).routed(tags, tagSets, tag => tag);
  expect(await lines.write(items, undefined)).toBe(false);
  expect(opened).toEqual([]);
});

it('RowWriter writes posts of the same path together, even if their path fields differ', async () => {
  const files = new Map<string, { length: number; allocate(bytes: number): number }>();
  const fileAt = (path: string) => {
    const file = files.get(path) ?? {
      length: 0,
      allocate(bytes: number) {
        const position = this.length;
        this.length += bytes + 1;
        return position;
      },
    };
    files.set(path, file);
    return file;
  };
  const written: { position: number; bytes: number; rows: number[] }[] = [];
  const outputs = unchecked({
    open: (path: string) => ({ fileFor: () => fileAt(path) }),
    writeRanges: async (ranges: typeof written) => void written.push(...ranges),
  });
  const lines = new RowWriter(outputs, optionsOf('{author}{lang}'));
  const file = fileOf({
    names: ['author', 'lang'],
    indexes: Uint32Array.of(0, 1, 0, 1),
    sets: [
      ['a', 'bc'],
      ['ab', 'c'],
    ],
  });
  expect(await lines.write(StoredRows.of(file), undefined)).toBe(true);
  expect([...files.keys()]).toEqual(['abc']);
  expect(written).toMatchObject([{ position: 0, bytes: 12, rows: [0, 1, 2, 3] }]);
});
