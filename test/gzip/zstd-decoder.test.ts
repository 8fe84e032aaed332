import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all, blocks, cutAt, cuts, filesOf, texts, until } from '../json/cut.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { contentOf, frameOf, parts, SKIPPED } from './zstd-files.js';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const hello = [{ bytes: Buffer.from('hello zstd\n'), repeat: false }];

describe.skipIf(nodeZstd !== undefined)('a zstd file in a Node without zstd', () => {
  it.each(['refuse', 'pass'] as const)(
    'causes an error with advice, with `plain` set to %s',
    async plain => {
      const { error } = await until(gunzip({ plain })(filesOf([frameOf(hello)])));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/from version 22\.15 on, and this is v\d.*zstd -d.*file 0/),
        position: { origin: 'file 0' },
      });
    },
  );
});

describe('files that are neither gzip nor zstd', () => {
  it('pass unchanged, even if they start like zstd', async () => {
    const starts = ['', '(', '(\xb5', '(\xb5/', '(\xb5/x', 'plain'];
    for (const start of starts) {
      const file = Buffer.from(start, 'latin1');
      for (const cut of [[file], [...file].map(byte => Buffer.from([byte]))]) {
        const passed = await all(gunzip({ plain: 'pass' })(filesOf(cut)));
        expect(Buffer.concat(passed)).toEqual(file);
        const open = await all(gunzip({ plain: 'pass' })(blocks(cut)));
        expect(Buffer.concat(open)).toEqual(file);
      }
    }
    const { error } = await until(gunzip()(filesOf([Buffer.from('(')])));
    expect(error).toMatchObject({ message: expect.stringContaining('not gzip') });
  });
});

describe.skipIf(nodeZstd === undefined)('zstd files', () => {
  it('are decoded with any number of frames, for any chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(parts, { minLength: 1, maxLength: 4 }),
        cuts(900),
        async (all_, at) => {
          const file = Buffer.concat(all_.flatMap(one => [SKIPPED, frameOf(one)]));
          const pieces = cutAt(
            file,
            at.map(place => Math.min(place, file.length)),
          );
          const content = Buffer.concat(all_.map(contentOf));
          expect(Buffer.concat(await all(gunzip()(blocks(pieces))))).toEqual(content);
          expect(Buffer.concat(await all(gunzip()(filesOf(pieces, [file]))))).toEqual(
            Buffer.concat([content, content]),
          );
        },
      ),
      { numRuns: bySuite(5, 240) },
    );
  });

  it('are read from a folder that also contains gzip files', async () => {
    const { zstdCompressSync } = unchecked<{ zstdCompressSync: (input: Buffer) => Buffer }>(zlib);
    const lines = (name: string) => Buffer.from(`{"file":"${name}","n":1}\n`.repeat(30_000));
    await writeFile(path.join(folder, '1.json.gz'), zlib.gzipSync(lines('gz')));
    await writeFile(path.join(folder, '2.json.zst'), zstdCompressSync(lines('zst')));
    await writeFile(path.join(folder, '3.json.gz'), zlib.gzipSync(lines('gz')));
    const found = await texts(jsonLines()(gunzip()(localFiles(folder))));
    expect(found.length).toBe(90_000);
    expect([found[0], found[30_000], found[60_000]].map(line => JSON.parse(line!).file)).toEqual([
      'gz',
      'zst',
      'gz',
    ]);
  });

  it('cause an error if they are truncated or followed by other bytes, after all readable data is delivered', async () => {
    const file = Buffer.concat([frameOf(hello), frameOf(hello)]);
    for (let length = 0; length < file.length; length++) {
      if (length === file.length / 2 || length === 0) continue;
      const { items, error } = await until(gunzip()(filesOf([file.subarray(0, length)])));
      expect(error, `${length}`).toBeInstanceOf(DataError);
      if (length < 4) continue;
      expect(error).toMatchObject({ message: expect.stringContaining('cut short') });
      const read = Buffer.concat(items).toString();
      expect('hello zstd\n'.repeat(2).startsWith(read)).toBe(true);
      if (length > file.length / 2) expect(read).toContain('hello zstd\n');
    }
    for (const junk of ['junk', '\0\0\0\0', 'some junk']) {
      const { items, error } = await until(gunzip()(filesOf([frameOf(hello), Buffer.from(junk)])));
      expect(error).toMatchObject({
        message: expect.stringContaining('something follows the end of the data'),
        position: { origin: 'file 0' },
      });
      expect(Buffer.concat(items).toString()).toBe('hello zstd\n');
    }
  });

  it('cause an error if their checksum shows damage', async () => {
    const { zstdCompressSync, constants } = unchecked<{
      readonly zstdCompressSync: (input: Buffer, options: object) => Buffer;
      readonly constants: Record<string, number>;
    }>(zlib);
    const params = { [constants.ZSTD_c_checksumFlag as number]: 1 };
    const file = zstdCompressSync(Buffer.from('a b c d e f g '.repeat(5_000)), { params });
    for (let at = 6; at < file.length; at++) {
      const damaged = Buffer.from(file);
      damaged[at]! ^= 0x10;
      const { error } = await until(gunzip()(filesOf([damaged])));
      expect(error, `${at}`).toBeInstanceOf(DataError);
    }
  });

  it('cause an error in bounded memory if they inflate to more than maxBytes', async () => {
    const bomb = frameOf(
      Array.from({ length: 2_000 }, () => ({ bytes: Buffer.alloc(1_000, 'x'), repeat: true })),
    );
    const { error } = await until(gunzip({ maxBytes: 1_500_000 })(filesOf([bomb])));
    expect(error).toMatchObject({ message: expect.stringContaining('more than 1500000 bytes') });
    expect(
      (await all(gunzip()(filesOf([bomb])))).reduce((sum, { length }) => sum + length, 0),
    ).toBe(2_000_000);
  });
});
