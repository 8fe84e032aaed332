import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { compileLibrary } from '../../compile-library.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { Random } from '../random.js';
import { cutLmdb } from './cut-lmdb.js';
import { fileAfterCut, type Survives } from './disk-image.js';
import { failLmdb } from './fail-lmdb.js';
import { KEPT_BY_LMDB } from './kept-by-lmdb.js';
import { systemCalls, withoutStrace } from './system-calls.js';

const hex = (text: string) =>
  [...Buffer.from(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
const FOLDER = '/disk/deep';
const FILE = `${FOLDER}/data.mdb`;
const fd = (number: number, name = FILE) => `${number}<${hex(name)}>`;

const TRACE = [
  `7 openat(AT_FDCWD<${hex('/')}>, "${hex('/etc/passwd')}", O_RDONLY) = ${fd(3, '/etc/passwd')}`,
  `7 openat(AT_FDCWD<${hex('/')}>, "${hex(`${FOLDER}/new`)}", O_RDWR|O_CREAT, 0664) = ${fd(4, `${FOLDER}/new`)}`,
  `7 pwrite64(${fd(4, `${FOLDER}/new`)}, "${hex('first')}", 5, 0) = 5`,
  `7 fsync(${fd(4, `${FOLDER}/new`)}) = 0`,
  `7 link("${hex(`${FOLDER}/new`)}", "${hex(FILE)}") = 0`,
  `7 unlink("${hex(`${FOLDER}/new`)}") = 0`,
  `7 openat(AT_FDCWD<${hex('/')}>, "${hex(FOLDER)}", O_RDONLY|O_CLOEXEC) = ${fd(5, FOLDER)}`,
  `7 fsync(${fd(5, FOLDER)} <unfinished ...>`,
  `8 lseek(${fd(4)}, 5, SEEK_SET)          = 5`,
  `8 writev(${fd(4)}, [{iov_base="${hex('se')}", iov_len=2}, {iov_base="${hex('cond')}", iov_len=4}], 2 <unfinished ...>`,
  '7 <... fsync resumed>) = 0',
  '8 <... writev resumed>) = 6',
  `7 write(1<${hex('pipe:[1]')}>, "${hex('done 1\n')}", 7) = 7`,
  `8 pwrite64(${fd(4)}, "${hex('FIRST')}", 5, 0) = -1 EIO (Input/output error)`,
  `8 openat(AT_FDCWD<${hex('/')}>, "${hex(FILE)}", O_WRONLY|O_DSYNC|O_CLOEXEC) = ${fd(9)}`,
  `8 pwrite64(${fd(9)}, "${hex('F')}", 1, 0 <unfinished ...>`,
  '8 <... pwrite64 resumed>) = 1',
].join('\n');

describe('the parser of a system call trace', () => {
  const calls = systemCalls(TRACE, FOLDER);
  const left = (line: number, survives: Survives) =>
    fileAfterCut(calls, FILE, line, { survives, random: new Random('1') })?.toString();

  it('returns the changes of files below the folder by all threads', () => {
    expect(calls.map(({ kind, path: name }) => `${kind} ${path.basename(name)}`)).toEqual([
      ...['create new', 'write new', 'sync new', 'create data.mdb', 'remove new'],
      ...['sync deep', 'write data.mdb', 'line pipe:[1]', 'write data.mdb'],
    ]);
  });

  it('returns the lines that the traced program printed', () => {
    expect(calls.map(({ text }) => text).join('')).toBe('done 1\n');
  });

  it('predicts the content of a file after a power cut from the calls that were synced', () => {
    expect(left(4, 'everything')).toBeUndefined();
    expect(left(7, 'nothing')).toBeUndefined();
    expect(left(7, 'everything')).toBe('first');
    expect(left(12, 'nothing')).toBe('first');
    expect(left(12, 'everything')).toBe('firstsecond');
  });

  it('treats a synced write as on disk, together with earlier writes to the same page', () => {
    expect(left(99, 'nothing')).toBe('First');
    expect(left(15.1, 'nothing')).toBe('first');
    expect(left(15.1, 'last write')).toBe('First');
  });

  it('throws an error for a system call that is not simulated, or one that lacks bytes', () => {
    const refused = (line: string) => () => systemCalls(`${TRACE}\n${line}`, FOLDER);
    expect(refused(`7 fallocate(${fd(4)}, 0, 0, 100) = 0`)).toThrow('not simulated');
    expect(
      refused(`7 mmap(NULL, 100, PROT_READ|PROT_WRITE, MAP_SHARED, ${fd(4)}, 0) = 0x7f00`),
    ).toThrow('mapped for writing');
    expect(refused(`7 pwrite64(${fd(4)}, "${hex('a')}"..., 9, 0) = 9`)).toThrow('has lost bytes');
  });
});

describe.skipIf(withoutStrace() !== undefined)('the files of LMDB', () => {
  let library: URL;
  const compiled = inject('compiledSources');
  const scripts = path.join(compiled, 'test/faults/disks');
  beforeAll(async () => {
    const folder = path.join(compiled, 'library');
    await compileLibrary(folder);
    await build({
      entryPoints: ['cut-lmdb-write', 'cut-lmdb-open', 'fail-lmdb-write', 'fail-lmdb-open'].map(
        name => path.join(import.meta.dirname, `${name}-child.ts`),
      ),
      outdir: scripts,
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node20',
    });
    library = pathToFileURL(`${folder}/`);
  });

  // In the past, LMDB's root page could reach the disk before the pages that it refers to. After a
  // power cut, the file was then refused as truncated, and all of its data was lost. A half-written
  // new file was refused as well.
  it.each([...KEPT_BY_LMDB.keys()])(
    'contain every write whose promise resolved, and no wrong data, after a power cut: %s',
    async name => {
      const folder = await temporaryFolder();
      const { hits, cuts } = await cutLmdb(name, {
        library,
        folder,
        scripts,
        seed: 1,
        moments: 'syncs',
      });
      expect(hits).toBeGreaterThan(0);
      expect(cuts).toBeGreaterThan(hits);
    },
  );

  // In the past, LMDB refused all calls after it could not write a root page. The next transaction
  // and `close` waited forever.
  it.each([...KEPT_BY_LMDB.keys()])(
    'cause a StorageError if a root page cannot be written, and remain usable: %s',
    async name => {
      const folder = await temporaryFolder();
      const isTried = (call: string) => call === 'pwrite64 2';
      expect(
        await failLmdb(name, { library, folder, scripts, seed: 2, fault: 'EIO', isTried }),
      ).toEqual({ hits: 1, errors: 1, crashes: 0 });
    },
  );
});
