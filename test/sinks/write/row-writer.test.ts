import { expect, it } from 'vitest';
import { Rows } from '../../../src/files/rows.js';
import { linesFormat } from '../../../src/sinks/write/lines.js';
import { parsePathTemplate } from '../../../src/sinks/write/path-template.js';
import { RowWriter } from '../../../src/sinks/write/row-writer.js';
import { unchecked } from '../../unchecked.js';

const optionsOf = (template: string) =>
  ({
    path: parsePathTemplate('files', template),
    maxOpen: 10,
    format: linesFormat({ encode: () => new Uint8Array() }),
    encoding: { kind: 'lines' },
    encodingNumber: 0,
  }) as const;

it('posts with more combinations of tags and keys than 32 bits are left to the main thread', async () => {
  const opened: string[] = [];
  const outputs = unchecked({ open: (path: string) => opened.push(path) });
  const lines = new RowWriter(outputs, optionsOf('{author}/{tag}'));
  const names = Array.from({ length: 70_000 }, (_, index) => String(index));
  // The last 32 bits of these two combinations are the same: 61,356 * 70,000 + 47,296 is 2 ** 32.
  const [keys, tags] = [Uint32Array.of(0, 47_296), Uint32Array.of(0, 61_356)];
  const fields = {
    count: 2,
    keys,
    keySets: names.map(name => [name]),
    keyNames: ['author'],
    lengths: Uint32Array.of(2, 2),
  };
  const file = unchecked({ bytes: 2 ** 30, fields, isInThread: true, release() {} });
  const items = Rows.of(file).routed(Uint32Array.of(0, 1), tags, names);
  expect(await lines.write(items, undefined)).toBe(false);
  expect(opened).toEqual([]);
});

it('posts whose keys differ and fill one path are one range of its file', async () => {
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
  const keySets = [
    ['a', 'bc'],
    ['ab', 'c'],
  ];
  const fields = {
    count: 4,
    keys: Uint32Array.of(0, 1, 0, 1),
    keySets,
    keyNames: ['author', 'lang'],
    lengths: Uint32Array.of(2, 2, 2, 2),
  };
  const file = unchecked({ bytes: 2 ** 30, fields, isInThread: true, release() {} });
  expect(await lines.write(Rows.of(file), undefined)).toBe(true);
  expect([...files.keys()]).toEqual(['abc']);
  expect(written).toMatchObject([{ position: 0, bytes: 12, rows: [0, 1, 2, 3] }]);
});
