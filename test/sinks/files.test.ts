import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { Activity, type Routed } from '../../src/post/activity.js';
import { type FilesOptions, files, filesOn } from '../../src/sinks/files.js';
import { parquet } from '../../src/sinks/parquet.js';
import { localFiles } from '../../src/sources/local-files.js';
import { nodeFileSystem } from '../../src/storage/file-system.js';
import { texts } from '../json/cut.js';
import { nodeError } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { post } from './posts.js';

function flowOf<T>(...items: T[]): Flow<T> {
  return places([items]);
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}

function text(...parts: string[]): Promise<string> {
  return readFile(path.join(...parts), 'utf8');
}

describe('files()', () => {
  it('writes activities byte for byte, each to the file of its path', async () => {
    const out = await temporaryFolder();
    const odd = new Activity(
      Buffer.from(
        '{ "created_at":"Tue Mar 05 14:07:59 +0000 2024", "id":9007199254740993,"id_str":"9007199254740993","text":"\\u00e9\\/",  "user":{"id_str":"1"} }',
      ),
    );
    const plain = post({ id: '2', at: Date.UTC(2024, 2, 6) });
    const written = await pipeline(
      flowOf(
        { tag: 'snow', activity: odd },
        { tag: 'a/b', activity: plain },
        { tag: 'snow', activity: plain },
      ),
      files({ path: `${out}/{tag}/{day}.jsonl` }),
    );
    expect(await namesIn(out)).toEqual([
      'a%2Fb/2024-03-06.jsonl',
      'snow/2024-03-05.jsonl',
      'snow/2024-03-06.jsonl',
    ]);
    expect(await text(out, 'snow/2024-03-05.jsonl')).toBe(`${odd.raw}\n`);
    expect(await text(out, 'a%2Fb/2024-03-06.jsonl')).toBe(`${plain.raw}\n`);
    const bytes = odd.byteLength + 2 * plain.byteLength + 3;
    expect(written).toEqual({
      posts: 3,
      bytes,
      files: [
        { path: `${out}/snow/2024-03-05.jsonl`, posts: 1, bytes: odd.byteLength + 1 },
        { path: `${out}/a%2Fb/2024-03-06.jsonl`, posts: 1, bytes: plain.byteLength + 1 },
        { path: `${out}/snow/2024-03-06.jsonl`, posts: 1, bytes: plain.byteLength + 1 },
      ],
    });
  });

  it('writes a post that spans several lines as one line', async () => {
    const out = await temporaryFolder();
    const printed = new Activity(
      Buffer.from(JSON.stringify(post({ id: '5', text: 'two\nlines' }).post, null, 2)),
    );
    const windows = new Activity(Buffer.from(printed.raw.toString().replaceAll('\n', '\r\n')));
    await pipeline(
      flowOf<Activity | Routed>(printed, windows, { tag: 'a', activity: printed }),
      files({ path: `${out}/all.jsonl` }),
    );
    const lines = (await text(out, 'all.jsonl')).split(/\r\n|\r|\n/);
    expect(lines.pop()).toBe('');
    expect(lines.map(line => JSON.parse(line))).toEqual(
      Array(3).fill(JSON.parse(String(printed.raw))),
    );
  });

  it('writes bytes unchanged, and all other values as JSON', async () => {
    const out = await temporaryFolder();
    const values = [
      Uint8Array.of(0xff, 0x00, 0x41),
      { a: [1, null] },
      'é',
      1.5,
      null,
      true,
      [],
      Buffer.from('x'),
    ];
    await pipeline(flowOf<unknown>(...values), files({ path: `${out}/x` }));
    const expected = Buffer.concat([
      Buffer.from([0xff, 0x00, 0x41]),
      Buffer.from('\n{"a":[1,null]}\n"é"\n1.5\nnull\ntrue\n[]\nx\n'),
    ]);
    expect(await readFile(`${out}/x`)).toEqual(expected);
  });

  it.each([
    ['a bigint', 1n],
    ['undefined', undefined],
    ['a function', () => {}],
    ['a symbol', Symbol('x')],
    ['an object that contains a bigint', { a: 1n }],
    ['NaN', Number.NaN],
    [
      'a circular object',
      (() => {
        const a: unknown[] = [];
        a.push(a);
        return a;
      })(),
    ],
  ])('rejects %s with advice', async (_, value) => {
    const out = await temporaryFolder();
    const run = pipeline(flowOf<unknown>(value), files({ path: `${out}/x` }));
    await expect(run).rejects.toThrow(DataError);
    await expect(run).rejects.toThrow(/has no JSON.*pass `line`/);
  });

  it('writes the string or bytes that `line` returns', async () => {
    const out = await temporaryFolder();
    await pipeline(
      flowOf(1, 2),
      files({ path: `${out}/x`, line: n => (n === 1 ? 'öne' : Buffer.from('two')) }),
    );
    expect(await text(out, 'x')).toBe('öne\ntwo\n');
    const bad = files({ path: `${out}/y`, line: () => unchecked<string>(7) });
    await expect(pipeline(flowOf(1), bad)).rejects.toThrow(
      /`line` must return text or bytes, but returned a number/,
    );
  });

  it('accepts paths from a function, but none outside the folder', async () => {
    const out = await temporaryFolder();
    const paths = ['a.jsonl', './b//c.jsonl', 'b/c.jsonl'];
    const sink = files<string>({ path: name => `${out}/f/${name}` });
    const written = await pipeline(flowOf(...paths), sink);
    expect(written.files.map(file => [path.relative(out, file.path), file.posts])).toEqual([
      ['f/a.jsonl', 1],
      ['f/b/c.jsonl', 2],
    ]);
    for (const [bad, message] of [
      ['x/../../y', /leaves its folder/],
      ['', /no file/],
      ['x/', /no file/],
      ['a\0b', /NUL/],
      [7, /a number, not text/],
    ] as const) {
      const run = pipeline(flowOf<unknown>(bad), files<unknown>({ path: name => name as string }));
      await expect(run).rejects.toThrow(DataError);
      await expect(run).rejects.toThrow(message);
    }
  });

  it.each([
    [{ path: 'out/{nope}' }, 'path'],
    [{ path: 7 }, 'path'],
    [{ path: 'x', checkpoint: '' }, 'checkpoint'],
    [{ path: 'x', gzip: { level: 10 } }, 'gzip'],
    [{ path: 'x', gzip: 'yes' }, 'gzip'],
    [{ path: 'x', maxBytes: 0 }, 'maxBytes'],
    [{ path: 'x', maxOpen: 1.5 }, 'maxOpen'],
    [{ path: 'x', line: 'no' }, 'line'],
    [{ path: 'x', commitIntervalMs: -1 }, 'commitIntervalMs'],
    [{ path: 'x', commitIntervalMs: Number.NaN }, 'commitIntervalMs'],
  ])('throws an OptionError for the options %j before any I/O', (options, option) => {
    const make = () => files(options as FilesOptions<unknown>);
    expect(make).toThrow(OptionError);
    try {
      make();
    } catch (error) {
      expect((error as OptionError).option).toBe(option);
    }
  });

  it.skipIf(nodeZstd === undefined)(
    'writes each item exactly once as zstd if the path ends in .zst',
    async () => {
      const out = await temporaryFolder();
      const flow = new Flow<{ readonly n: number }>(
        async function* ({ resume }) {
          for (let n = Number(resume?.n ?? 0); n < 40; n++) {
            if (n === 25 && !existsSync(`${out}/failed`)) {
              await writeFile(`${out}/failed`, '');
              throw new Error('broken');
            }
            yield { items: [{ n }], cursor: { n: n + 1 } };
          }
        },
        undefined,
        [{ step: 'numbers' }],
      );
      const sink = () =>
        files({
          path: `${out}/x.jsonl.zst`,
          checkpoint: `${out}/x.json`,
          commitIntervalMs: 0,
          maxBytes: 150,
        });
      await expect(pipeline(flow, sink())).rejects.toThrow('broken');
      const { files: written } = await pipeline(flow, sink());
      expect(written.map(file => path.basename(file.path))).toContain('x.0002.jsonl.zst');
      const lines = await texts(jsonLines()(gunzip()(localFiles(written.map(file => file.path)))));
      expect(lines.map(line => JSON.parse(line).n)).toEqual(
        Array.from({ length: 40 }, (_, n) => n),
      );
    },
  );

  it('removes old .part files whose numbers directly follow its last file, and no other files', async () => {
    const out = await temporaryFolder();
    for (const name of ['x.0003.part', 'x.0004.part', 'x.0006.part', 'y.0001.part'])
      await writeFile(path.join(out, name), 'stale');
    await pipeline(flowOf({ n: 1 }, { n: 2 }), files({ path: `${out}/x`, maxBytes: 10 }));
    expect((await readdir(out)).toSorted()).toEqual([
      ...['x.0001', 'x.0002'],
      ...['x.0006.part', 'y.0001.part'],
    ]);
  });

  it('never writes uncompressed lines to a name that ends in .zst', async () => {
    const out = await temporaryFolder();
    if (nodeZstd === undefined)
      expect(() => files({ path: `${out}/x.jsonl.zst` })).toThrow(/from version 22\.15/);
    expect(() => files({ path: `${out}/x.jsonl.zstd` })).toThrow(OptionError);
    expect(() => parquet({ path: `${out}/x.zst` })).toThrow(OptionError);
    const byFunction = pipeline(flowOf({ a: 1 }), files({ path: () => `${out}/x.jsonl.zst` }));
    await expect(byFunction).rejects.toThrow(DataError);
    expect(await readdir(out)).toEqual([]);
  });

  it('fails for items that lack a field of the path', async () => {
    const out = await temporaryFolder();
    await expect(pipeline(flowOf({ a: 1 }), files({ path: `${out}/{day}` }))).rejects.toThrow(
      /need activities, but got an object without an id\. Put activities\(\) before it/,
    );
    await expect(
      pipeline(flowOf(post({ id: '1' })), files({ path: `${out}/{tag}` })),
    ).rejects.toThrow(/routeByTag\(\)/);
    expect(await namesIn(out)).toEqual([]);
  });

  it('never writes outside its folder, for any tag', async () => {
    const hostile = [
      '..',
      '../../x',
      '/etc/x',
      '\0',
      '',
      '.',
      'a/b',
      '..\\x',
      'CON',
      'x'.repeat(400),
      '\ud800',
      '~',
      'x.part',
    ];
    const out = await temporaryFolder();
    await writeFile(`${out}/canary`, '');
    const activity = post({ id: '1' });
    for (const template of ['1/{tag}', '2/{tag}/x', '3/{tag}{tag}.jsonl']) {
      const base = `${out}/base`;
      const items = hostile.map(tag => ({ tag, activity }));
      const written = await pipeline(flowOf(...items), files({ path: `${base}/${template}` }));
      expect(written.files.length).toBe(hostile.length);
      expect((await readdir(out)).sort()).toEqual(['base', 'canary']);
    }
  });

  it('writes only .part files until the run is complete', async () => {
    const out = await temporaryFolder();
    await writeFile(`${out}/a`, 'the finished one of before\n');
    const seen: string[][] = [];
    const source = new Flow<string>(async function* () {
      yield { items: ['a', 'b'] };
      seen.push(await namesIn(out));
    });
    const tiny = files<string>({ path: name => `${out}/${name}` });
    await pipeline(source, tiny);
    expect(seen).toEqual([['a']]);
    expect(await text(out, 'a')).toBe('"a"\n');
    expect(await namesIn(out)).toEqual(['a', 'b']);
  });

  it('leaves .part files after a failure, and replaces them in the next run', async () => {
    const out = await temporaryFolder();
    const failing = new Flow<Buffer>(async function* () {
      for (let i = 0; i < 40; i++) yield { items: [Buffer.alloc(100_000, 65)] };
      throw new Error('the source broke');
    });
    await expect(pipeline(failing, files({ path: `${out}/x` }))).rejects.toThrow(
      'the source broke',
    );
    expect(await namesIn(out)).toEqual(['x.part']);
    await pipeline(flowOf(1), files({ path: `${out}/x` }));
    expect(await namesIn(out)).toEqual(['x']);
    expect(await text(out, 'x')).toBe('1\n');
  });

  it('writes no file if there are no items', async () => {
    const out = await temporaryFolder();
    expect(await pipeline(flowOf<number>(), files({ path: `${out}/deep/x` }))).toEqual({
      posts: 0,
      bytes: 0,
      files: [],
    });
    expect(await readdir(out)).toEqual([]);
  });

  it('writes every line in one piece even with many outputs and few open files', async () => {
    const out = await temporaryFolder();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.integer({ min: 0, max: 20 }),
            fc.oneof(fc.nat(50), fc.nat(40_000), fc.integer({ min: 1_000_000, max: 1_200_000 })),
          ),
          { maxLength: 60 },
        ),
        fc.integer({ min: 1, max: 4 }),
        async (lines, maxOpen) => {
          const base = path.join(out, String(Math.random()));
          const items = lines.map(([to, length], n) => ({
            to,
            bytes: Buffer.alloc(length, 65 + (n % 26)),
          }));
          const written = await pipeline(
            places([items.slice(0, 7), [], items.slice(7)]),
            files({ path: ({ to }) => `${base}/${to}`, line: ({ bytes }) => bytes, maxOpen }),
          );
          expect(written.posts).toBe(items.length);
          for (const to of new Set(items.map(item => item.to))) {
            const own = items.filter(item => item.to === to);
            const expected = Buffer.concat(own.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]));
            expect((await readFile(`${base}/${to}`)).equals(expected)).toBe(true);
          }
        },
      ),
      { numRuns: bySuite(2, 100) },
    );
  });

  it('limits its open files and the memory of buffered posts', async () => {
    const out = await temporaryFolder();
    let open = 0;
    let most = 0;
    const counting = Object.create(nodeFileSystem) as typeof nodeFileSystem;
    Object.assign(counting, nodeFileSystem, {
      open: async (file: string, flags: string, mode?: number) => {
        const handle = await nodeFileSystem.open(file, flags, mode);
        most = Math.max(most, ++open);
        const close = handle.close.bind(handle);
        handle.close = () => {
          open--;
          return close();
        };
        return handle;
      },
    });
    const line = Buffer.alloc(10_000, 65);
    let gathered = 0;
    const source = new Flow<{ to: number }>(async function* ({ progress }) {
      for (let i = 0; i < 60; i++) {
        yield { items: Array.from({ length: 200 }, (_, to) => ({ to })) };
        gathered = Math.max(gathered, (i + 1) * 200 * line.length - (progress?.writtenBytes ?? 0));
      }
    });
    await pipeline(
      source,
      filesOn(counting, {
        path: ({ to }: { to: number }) => `${out}/${to}`,
        line: () => line,
        maxOpen: 8,
      }),
    );
    // At most 8 files are written at a time, and at most one folder per file is open to be synced.
    expect(most).toBeLessThanOrEqual(16);
    expect(open).toBe(0);
    expect(gathered).toBeLessThan(48 << 20);
    expect((await stat(`${out}/7`)).size).toBe(60 * (line.length + 1));
  });

  it('ends a source immediately if the disk is full while the source waits', async () => {
    const out = await temporaryFolder();
    const full = Object.assign(Object.create(null), nodeFileSystem, {
      open: async (...call: Parameters<typeof nodeFileSystem.open>) => {
        if (call[0].endsWith('.part')) throw nodeError('ENOSPC', 'open');
        return nodeFileSystem.open(...call);
      },
    });
    let closed = false;
    const source = new Flow<Buffer>(async function* ({ signal }) {
      try {
        yield { items: [Buffer.alloc(3 << 20, 65), Buffer.alloc(3 << 20, 66)] };
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      } finally {
        closed = true;
      }
    });
    const run = pipeline(source, filesOn(full, { path: `${out}/x` }));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(
      /Could not write .*x\.part: ENOSPC.*make room, then run the same again/,
    );
    expect(closed).toBe(true);
  });

  it('rejects with the reason of an abort and closes the source', async () => {
    const out = await temporaryFolder();
    const controller = new AbortController();
    const reason = new Error('enough');
    let closed = false;
    const source = new Flow<number>(async function* ({ signal }) {
      try {
        yield { items: [1] };
        setTimeout(() => controller.abort(reason), 5);
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      } finally {
        closed = true;
      }
    });
    const run = pipeline(source, files({ path: `${out}/x` }), { signal: controller.signal });
    await expect(run).rejects.toBe(reason);
    expect(closed).toBe(true);
  });

  it.each([
    [
      'a folder has the name of a file',
      async (out: string) => {
        await mkdir(`${out}/x.part`);
      },
      'x',
      /x\.part is not a regular file.*choose another path/,
    ],
    [
      'a file has the name of a folder',
      async (out: string) => {
        await writeFile(`${out}/x`, '');
      },
      'x/y',
      /choose another path/,
    ],
    [
      'the finished name is a folder',
      async (out: string) => {
        await mkdir(`${out}/x/z`, { recursive: true });
      },
      'x',
      /is not a regular file/,
    ],
  ])('names the problem in its error if %s', async (_, prepare, name, message) => {
    const out = await temporaryFolder();
    await prepare(out);
    const run = pipeline(flowOf(1), files({ path: `${out}/${name}` }));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(message);
  });

  it('writes into a folder that is a symbolic link', async () => {
    const out = await temporaryFolder();
    await mkdir(`${out}/real`);
    await symlink(`${out}/real`, `${out}/link`);
    await pipeline(flowOf(1), files({ path: `${out}/link/x` }));
    expect(await text(out, 'real/x')).toBe('1\n');
  });

  it("can be the sink of Node's own pipeline", async () => {
    const out = await temporaryFolder();
    await nodePipeline(
      Readable.from([{ n: 1 }, { n: 2 }]),
      files<{ n: number }>({ path: `${out}/x` }),
    );
    expect(await text(out, 'x')).toBe('{"n":1}\n{"n":2}\n');
  });

  it('can be used for several runs one after the other', async () => {
    const out = await temporaryFolder();
    const sink = files<number>({ path: `${out}/x` });
    await pipeline(flowOf(1, 2), sink);
    await pipeline(flowOf(3), sink);
    expect(await text(out, 'x')).toBe('3\n');
  });

  it('reports the number of written posts and bytes as progress', async () => {
    const out = await temporaryFolder();
    let last = { written: 0, writtenBytes: 0 };
    await pipeline(flowOf(1, 22), files({ path: `${out}/x` }), {
      progress: ({ written, writtenBytes }) => (last = { written, writtenBytes }),
    });
    expect(last).toEqual({ written: 2, writtenBytes: 5 });
  });
});

describe('files() with gzip', () => {
  it('adds .gz to the name if it is missing, and writes files that zcat reads', async () => {
    const out = await temporaryFolder();
    const lines = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(n % 900) }));
    const source = places([lines.slice(0, 1000), lines.slice(1000)]);
    const written = await pipeline(source, files({ path: `${out}/x.jsonl`, gzip: true }));
    const expected = lines.map(line => `${JSON.stringify(line)}\n`).join('');
    expect(await namesIn(out)).toEqual(['x.jsonl.gz']);
    const bytes = await readFile(`${out}/x.jsonl.gz`);
    expect(gunzipSync(bytes).toString()).toBe(expected);
    expect(execFileSync('zcat', [`${out}/x.jsonl.gz`], { maxBuffer: 1 << 24 }).toString()).toBe(
      expected,
    );
    expect(written).toMatchObject({ posts: 3000, bytes: bytes.length });
  });

  it('compresses depending on the extension of the path, and accepts a level', async () => {
    const out = await temporaryFolder();
    const line = 'snow '.repeat(1000);
    await pipeline(flowOf(line), files({ path: `${out}/a.gz` }));
    await pipeline(flowOf(line), files({ path: `${out}/b.gz`, gzip: { level: 0 } }));
    await pipeline(flowOf(line), files({ path: `${out}/c.gz`, gzip: false }));
    await pipeline(flowOf(line), files({ path: () => `${out}/d`, gzip: { level: 9 } }));
    const [a, b, c, d] = await Promise.all(
      ['a.gz', 'b.gz', 'c.gz', 'd.gz'].map(name => readFile(`${out}/${name}`)),
    );
    expect(gunzipSync(a as Buffer).toString()).toBe(`"${line}"\n`);
    expect(gunzipSync(b as Buffer).length).toBe(line.length + 3);
    expect((b as Buffer).length).toBeGreaterThan(line.length);
    expect((c as Buffer).toString()).toBe(`"${line}"\n`);
    expect((d as Buffer).length).toBeLessThan(200);
  });
});

describe('files() with `maxBytes`', () => {
  it('numbers its files, and starts a new file before one becomes too large', async () => {
    const out = await temporaryFolder();
    const lines = ['a'.repeat(9), 'b'.repeat(9), 'c', 'd'.repeat(50), 'e'];
    const written = await pipeline(
      flowOf(...lines),
      files({ path: `${out}/x.jsonl`, maxBytes: 20, line: s => s }),
    );
    expect(await namesIn(out)).toEqual([
      'x.0001.jsonl',
      'x.0002.jsonl',
      'x.0003.jsonl',
      'x.0004.jsonl',
    ]);
    expect(await text(out, 'x.0001.jsonl')).toBe(`${lines[0]}\n${lines[1]}\n`);
    expect(await text(out, 'x.0002.jsonl')).toBe('c\n');
    expect(await text(out, 'x.0003.jsonl')).toBe(`${lines[3]}\n`);
    expect(await text(out, 'x.0004.jsonl')).toBe('e\n');
    expect(written.files.map(file => file.posts)).toEqual([2, 1, 1, 1]);
  });

  it.each([
    ['x', 'x.0001'],
    ['x.tar.jsonl', 'x.tar.0001.jsonl'],
    ['.x', '.x.0001'],
    ['a.b/x', 'a.b/x.0001'],
  ])('puts the number of %s before the extension', async (name, numbered) => {
    const out = await temporaryFolder();
    await pipeline(flowOf(1), files({ path: `${out}/${name}`, maxBytes: 10 }));
    await pipeline(flowOf(1), files({ path: `${out}/${name}`, maxBytes: 10, gzip: true }));
    expect(await namesIn(out)).toEqual([numbered, `${numbered}.gz`].sort());
  });

  it('measures lines before compression, so that gzip files are divided at the same lines', async () => {
    const out = await temporaryFolder();
    const lines = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(9, '0'));
    await pipeline(
      flowOf(...lines),
      files({ path: `${out}/x.jsonl`, maxBytes: 100, line: s => s, gzip: true }),
    );
    const names = await namesIn(out);
    expect(names.length).toBe(10);
    const texts = await Promise.all(
      names.map(async name => gunzipSync(await readFile(`${out}/${name}`)).toString()),
    );
    expect(texts.every(content => content.length === 100)).toBe(true);
    expect(texts.join('')).toBe(lines.map(line => `${line}\n`).join(''));
  });
});
