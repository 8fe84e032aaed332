import { execFile } from 'node:child_process';
import promises, {
  appendFile,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import type { Batch, Cursor, Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress, type ProgressCounts } from '../../src/flow/progress.js';
import type { ProgressDisplay } from '../../src/flow/progress-display.js';
import type { FileBytes } from '../../src/json/records.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';
import { LISTS_OPEN_FILES, openFilesBelow } from '../open-files.js';
import { StandIn } from '../sinks/stand-in.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

async function write(files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function batchesOf<T>(
  flow: Flow<T>,
  resume?: Cursor,
  progress?: Progress,
): Promise<Batch<T>[]> {
  const batches: Batch<T>[] = [];
  for await (const batch of flow.batches({ resume, progress })) batches.push(batch);
  return batches;
}

async function contents(flow: Flow<Uint8Array>, resume?: Cursor): Promise<string[]> {
  return (await batchesOf(flow, resume)).flatMap(({ items }) =>
    items.map(item => Buffer.from(item).toString()),
  );
}

/** Converts bytes to a string, because comparing large buffers element by element is very slow. */
function shown({ items, cursor, origin }: Batch<Uint8Array>) {
  return { items: items.map(item => Buffer.from(item).toString()), cursor, origin };
}

/** Calls `change` once, right after the size of `b.json` has been read. */
function afterListing(change: (file: string) => Promise<unknown>): void {
  const { stat } = promises;
  let isChanged = false;
  promises.stat = (async (...args: Parameters<typeof stat>) => {
    const status = await stat(...args);
    if (!isChanged && String(args[0]).endsWith('b.json')) {
      isChanged = true;
      await change(String(args[0]));
    }
    return status;
  }) as typeof stat;
  syncBuiltinESMExports();
  onTestFinished(() => {
    promises.stat = stat;
    syncBuiltinESMExports();
  });
}

describe('localFiles', () => {
  const TREE = {
    'b.jsonl': '1',
    '2013/07/22/b.json.gz': '2',
    '2013/07/22/a.json.gz': '3',
    '2013/a.ndjson': '4',
    'a.JSON': '5',
    'notes.txt': 'no',
    'b.jsonl.part': 'no',
    '.index/c.json': 'no',
    '.d.json': 'no',
  };

  it('reads a folder and its subfolders in order of path, without hidden files and other file types', async () => {
    await write(TREE);
    expect(await contents(localFiles(folder))).toEqual(['3', '2', '4', '5', '1']);
  });

  it('reads only the files that the pattern or function `match` selects', async () => {
    await write(TREE);
    expect(await contents(localFiles(folder, { match: /^2013\/.*gz$/g }))).toEqual(['3', '2']);
    expect(await contents(localFiles(folder, { match: name => name.endsWith('.txt') }))).toEqual([
      'no',
    ]);
  });

  it('rejects a function `match` that returns a promise, because a promise would select every file', async () => {
    await write(TREE);
    const match = unchecked<() => boolean>(async () => false);
    await expect(contents(localFiles(folder, { match }))).rejects.toMatchObject({
      code: 'ERR_OPTION',
      option: 'match',
      message: 'localFiles: `match` must return true or false, got a promise',
    });
  });

  it('reads a list of files in the given order, whatever their names', async () => {
    await write({ 'z.log': 'z', 'a.log': 'a', 'sub/1.json': '1', 'sub/2.json': '2' });
    expect(
      await contents(localFiles(['z.log', 'sub', 'a.log'].map(name => join(folder, name)))),
    ).toEqual(['z', '1', '2', 'a']);
    expect(await contents(localFiles(join(folder, 'z.log')))).toEqual(['z']);
  });

  it('follows symbolic links to files, but not to folders', async () => {
    await write({ 'sub/a.json': 'a' });
    await symlink(join(folder, 'sub/a.json'), join(folder, 'b.json'));
    await symlink(folder, join(folder, 'sub/round.json'));
    expect(await contents(localFiles(folder))).toEqual(['a', 'a']);
  });

  it.runIf(process.platform === 'linux')('fails for a file name that is not UTF-8', async () => {
    await write({ 'caf\ufffd.json': 'other' });
    await writeFile(Buffer.from(`${folder}/caf\xe9.json`, 'latin1'), 'latin');
    await expect(contents(localFiles(folder))).rejects.toThrow(
      expect.objectContaining({
        constructor: StorageError,
        message: expect.stringContaining("not UTF-8: $'caf\\xe9.json'"),
      }),
    );
  });

  it('reports for a missing path with U+FFFD that the name on disk may not be UTF-8', async () => {
    await expect(contents(localFiles(join(folder, 'caf\ufffd.json')))).rejects.toThrow(
      /does not exist.* not UTF-8/,
    );
  });

  describe('with empty and large files', () => {
    const large = Buffer.alloc(9 * 1024 * 1024, 'large');
    const paths = () => ['a', 'b', 'c', 'd'].map(name => join(folder, `${name}.json`));
    const batches = async () => {
      await write({ 'a.json': 'a', 'b.json': '', 'c.json': large, 'd.json': 'd' });
      return batchesOf(localFiles(folder));
    };

    it('returns a cursor after every file', async () => {
      const edges = (await batches()).filter(({ cursor }) => cursor !== undefined);
      expect(edges.map(({ origin }) => origin)).toEqual(paths());
    });

    it('sets the file name as the origin of the bytes', async () => {
      const files = new Map<string | undefined, Buffer[]>();
      for (const { items, origin } of await batches())
        files.set(origin, [...(files.get(origin) ?? []), ...items.map(item => Buffer.from(item))]);
      expect(paths().map(path => Buffer.concat(files.get(path)!).toString())).toEqual([
        'a',
        '',
        large.toString(),
        'd',
      ]);
    });

    it('delivers at most 8 MiB in a batch', async () => {
      for (const { items } of await batches())
        for (const item of items) expect(item.length).toBeLessThanOrEqual(8 * 1024 * 1024);
    });
  });

  it('continues after the file of its cursor in a checkpoint', async () => {
    await write({
      'a.json': 'a',
      'b.json': 'b',
      'c.json': Buffer.alloc(9 * 1024 * 1024, 'c'),
      'd.json': 'd',
    });
    const all = await batchesOf(localFiles(folder));
    for (const [index, { cursor }] of all.entries()) {
      if (cursor === undefined) continue;
      const kept = JSON.parse(JSON.stringify(cursor)) as Cursor;
      const rest = await batchesOf(localFiles(folder), kept);
      expect(rest.map(shown)).toEqual(all.slice(index + 1).map(shown));
    }
  });

  it('includes new files after its cursor, but rejects the cursor if earlier files have changed', async () => {
    await write({ 'a.json': 'a', 'b.json': 'b' });
    const [, { cursor }] = (await batchesOf(localFiles(folder))) as [
      Batch<FileBytes>,
      Batch<FileBytes>,
    ];
    await write({ 'c.json': 'c' });
    expect(await contents(localFiles(folder), cursor)).toEqual(['c']);

    await write({ 'a.json': 'longer' });
    await expect(contents(localFiles(folder), cursor)).rejects.toThrow(StorageError);
    await write({ 'a.json': 'a' });
    await rename(join(folder, 'b.json'), join(folder, 'd.json'));
    await expect(contents(localFiles(folder), cursor)).rejects.toThrow('Delete the checkpoint');
    await rm(join(folder, 'd.json'));
    await rm(join(folder, 'c.json'));
    await expect(contents(localFiles(folder), cursor)).rejects.toThrow(StorageError);
    await expect(contents(localFiles(folder), { source: 'search', next: 'x' })).rejects.toThrow(
      StorageError,
    );
  });

  describe('with a folder written by files()', () => {
    const checkpoint = () => join(folder, 'checkpoint.json');
    /** The names of some outputs sort before the name of the checkpoint, and others after it. */
    const run = (count: number) =>
      files({
        path: (item: string) => join(folder, `${item}.jsonl`),
        checkpoint: checkpoint(),
        line: (item: string) => JSON.stringify(item),
      })(
        (async function* () {
          yield* ['a', 'b', 'd', 'e'].slice(0, count);
        })(),
      );

    it('skips the checkpoint unless the caller lists or selects it', async () => {
      await run(3);
      const lines = ['"a"\n', '"b"\n', '"d"\n'];
      expect(await contents(localFiles(folder))).toEqual(lines);
      const text = await readFile(checkpoint(), 'utf8');
      expect(await contents(localFiles(checkpoint()))).toEqual([text]);
      expect(await contents(localFiles(folder, { match: /\.json$/ }))).toEqual([text]);
      await write({ 'c.json': '{\n  "version": 1\n}\n' });
      expect(await contents(localFiles(folder))).toHaveLength(4);
    });

    it('makes files() refuse a new output that the next run would read', async () => {
      await write({ 'in/1.jsonl': '{"id":1}\n' });
      const source = localFiles(join(folder, 'in'));
      const copy = (from: Flow<FileBytes>, name: string) =>
        pipeline(from, jsonLines(), files({ path: join(folder, name) }));
      for (const from of [source, merge(source), concat(source)])
        await expect(copy(from, 'in/a/all.jsonl')).rejects.toMatchObject({
          code: 'ERR_STORAGE',
          message: expect.stringContaining('so the next run would read this output'),
        });
      expect(await copy(source, 'in/1.jsonl')).toMatchObject({ posts: 1 });
      expect(await copy(source, 'in/all.txt')).toMatchObject({ posts: 1 });
      expect(await copy(source, 'all.jsonl')).toMatchObject({ posts: 1 });
      const one = localFiles(join(folder, 'in/1.jsonl'));
      expect(await copy(one, 'in/2.jsonl')).toMatchObject({ posts: 1 });
      const selected = localFiles(join(folder, 'in'), { match: name => name === '1.jsonl' });
      expect(await copy(selected, 'in/3.jsonl')).toMatchObject({ posts: 1 });
    });

    it('reads the files that a longer run has added, although the checkpoint has changed', async () => {
      await run(2);
      const cursor = (await batchesOf(localFiles(folder))).at(-1)?.cursor;
      await rm(checkpoint());
      await run(4);
      expect(await contents(localFiles(folder), cursor)).toEqual(['"d"\n', '"e"\n']);
    });
  });

  it('fails for a missing path', async () => {
    const missing = join(folder, 'missing.json');
    await expect(contents(localFiles(missing))).rejects.toMatchObject({
      code: 'ERR_STORAGE',
      path: missing,
      message: `Could not read ${missing}: ENOENT: no such file or directory, stat '${missing}'. It does not exist: check the path.`,
    });
  });

  it('fails for a missing path in a list', async () => {
    await write({ 'a.json': 'a' });
    const list = [join(folder, 'a.json'), join(folder, 'missing.json')];
    await expect(contents(localFiles(list))).rejects.toThrow(StorageError);
  });

  it('fails for a folder without a matching file', async () => {
    await write({ 'notes/b.txt': 'b' });
    await expect(contents(localFiles(join(folder, 'notes')))).rejects.toThrow(
      'see the option `match`',
    );
  });

  it('fails for a path that is neither a file nor a folder', async () => {
    await expect(contents(localFiles('/dev/null'))).rejects.toThrow('neither a file nor a folder');
  });

  it('throws for an empty list or path', () => {
    expect(() => localFiles([])).toThrow(OptionError);
    expect(() => localFiles('')).toThrow(OptionError);
  });

  it('delivers the files before one that was removed after the listing, and then rejects', async () => {
    // There are more files than the source reads ahead.
    const names = [...'abcdefghij'];
    await write(Object.fromEntries(names.map(name => [`${name}.json`, name])));
    const seen: string[] = [];
    const act = async () => {
      for await (const block of localFiles(folder)) {
        seen.push(Buffer.from(block).toString());
        if (seen.length === 1) await rm(join(folder, 'j.json'));
      }
    };
    await expect(act()).rejects.toThrow(`Could not read ${join(folder, 'j.json')}: ENOENT`);
    expect(seen).toEqual(names.slice(0, -1));
  });

  it('reads the current content of a file that grew after the listing', async () => {
    const names = [...'abcdefghij'];
    await write(Object.fromEntries(names.map(name => [`${name}.json`, `${name} as listed`])));
    const seen: string[] = [];
    for await (const block of localFiles(folder)) {
      seen.push(Buffer.from(block).toString());
      if (seen.length === 1) await write({ 'j.json': 'more'.repeat(100) });
    }
    expect(seen.at(-1)).toBe('more'.repeat(100));
  });

  describe('after a listed file has changed', () => {
    const line = (id: number) => `{"id":${id},"id_str":"${id}","text":"${'x'.repeat(990)}"}\n`;
    const ofSize = (count: number) => Array.from({ length: count }, (_, id) => line(id)).join('');

    async function read(workers: number): Promise<unknown> {
      const out = join(folder, 'out.jsonl');
      const listed = ['a.json', 'b.json'].map(name => join(folder, name));
      const result = await pipeline(
        localFiles(listed),
        jsonLines(),
        activities(),
        files({ path: out, workers }),
      ).catch((error: unknown) => error);
      await rm(out, { force: true });
      return result;
    }

    const ways = [
      ['as a whole', 20, 0],
      ['in blocks', 9_000, 0],
      ['by a thread', 20, 1],
    ] as const;

    it.each(ways)(
      'rejects if the file was truncated at the end of a line (read %s)',
      async (_, count, workers) => {
        const listed = ofSize(count);
        await write({ 'a.json': line(1), 'b.json': listed });
        const left = ofSize(count / 2).length;
        afterListing(file => truncate(file, left));
        const error = await read(workers);
        expect(error).toBeInstanceOf(StorageError);
        expect(error).toMatchObject({
          path: join(folder, 'b.json'),
          message: expect.stringContaining(`has ${left} of the ${listed.length} bytes`),
        });
      },
    );

    it.skipIf(process.platform === 'win32').each(ways)(
      'rejects without blocking if the file was replaced by a pipe (read %s)',
      async (_, count, workers) => {
        await write({ 'a.json': line(1), 'b.json': ofSize(count) });
        afterListing(async file => {
          await rm(file);
          await promisify(execFile)('mkfifo', [file]);
        });
        const error = await read(workers);
        expect(error).toBeInstanceOf(StorageError);
        expect(error).toMatchObject({
          path: join(folder, 'b.json'),
          message: expect.stringContaining('is not a regular file'),
        });
      },
    );
  });

  it('queries the sizes of at most a few hundred files at a time', async () => {
    for (let n = 0; n < 1_000; n++) await writeFile(join(folder, `${n}.jsonl`), '1');
    const { stat } = promises;
    let asked = 0;
    let most = 0;
    promises.stat = (async (...args: Parameters<typeof stat>) => {
      most = Math.max(most, ++asked);
      return stat(...args).finally(() => asked--);
    }) as typeof stat;
    syncBuiltinESMExports();
    onTestFinished(() => {
      promises.stat = stat;
      syncBuiltinESMExports();
    });
    expect((await contents(localFiles(folder))).length).toBe(1_000);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThan(300);
  });

  it.skipIf(!LISTS_OPEN_FILES)('keeps no file open after it was read', async () => {
    await write({ 'a.jsonl': '{"a":1}\n', 'b.jsonl': '{"a":2}\n', 'c.jsonl': '' });
    await contents(localFiles(folder));
    expect(openFilesBelow(folder)).toEqual([]);
  });

  it('opens no file before the first pull', async () => {
    const flow = localFiles(folder);
    await write({ 'a.json': 'a' });
    expect(await contents(flow)).toEqual(['a']);
    expect(await contents(flow)).toEqual(['a']);
  });

  it('reports its progress as a fraction', async () => {
    await write({ 'a.json': 'aaa', 'b.json': '', 'c.json': 'c' });
    const progress = new Progress();
    const fractions: (number | undefined)[] = [];
    for await (const _ of localFiles(folder).batches({ progress }))
      fractions.push(progress.fraction);
    expect(fractions).toEqual([0.75, 0.75, 1]);
    expect(progress).toMatchObject({ received: 3, receivedBytes: 4 });
  });

  it('includes the files of an earlier run in the fraction of its progress', async () => {
    await write({ 'a.json': 'aaa', 'b.json': '', 'c.json': 'c' });
    const [first] = await batchesOf(localFiles(folder));
    const progress = new Progress();
    const fractions: (number | undefined)[] = [];
    for await (const _ of localFiles(folder).batches({ resume: first?.cursor, progress }))
      fractions.push(progress.fraction);
    expect(fractions).toEqual([0.75, 1]);
    expect(progress).toMatchObject({ received: 2, receivedBytes: 1 });
  });

  const linesOfCompressed = async () => {
    await write({
      '1.json.gz': gzipSync('{"a":1}\n{"a":2}'),
      '2.json.gz': gzipSync('{"b":1}\n'),
      '3.jsonl': '{"c":1}\n',
    });
    return jsonLines()(gunzip({ plain: 'pass' })(localFiles(folder)));
  };

  it('delivers the lines of gzip files in a pipeline with gunzip and jsonLines', async () => {
    const all = await batchesOf(await linesOfCompressed());
    expect(all.map(({ items }) => items.map(String))).toEqual([
      ['{"a":1}', '{"a":2}'],
      ['{"b":1}'],
      ['{"c":1}'],
    ]);
  });

  it('resumes from a cursor in a pipeline with gunzip and jsonLines', async () => {
    const flow = await linesOfCompressed();
    const [first] = await batchesOf(flow);
    expect(await contents(flow, first!.cursor)).toEqual(['{"b":1}', '{"c":1}']);
  });
});

describe('localFiles with `incremental`', () => {
  const ids = (...numbers: number[]) =>
    numbers
      .map(id => `{"id_str":"${id}","created_at":"Fri May 10 09:41:12 +0000 2024"}\n`)
      .join('');
  const run = (
    name = 'out',
    plain: 'pass' | 'refuse' = 'pass',
    progress: ProgressDisplay = 'off',
  ) =>
    pipeline(
      localFiles(join(folder, 'in'), { incremental: true }),
      gunzip({ plain }),
      jsonLines(),
      activities(),
      files({
        path: join(folder, name, 'all.jsonl'),
        checkpoint: join(folder, name, 'checkpoint.json'),
      }),
      { progress },
    );
  const written = async (name = 'out') =>
    (await readFile(join(folder, name, 'all.jsonl'), 'utf8')).match(/(?<="id_str":")\d+/g) ?? [];

  it('reads new files, at whatever position their names sort', async () => {
    await write({ 'in/b/2.jsonl': ids(1, 2), 'in/b/3.jsonl.gz': gzipSync(ids(3)) });
    expect(await run()).toMatchObject({ posts: 3, added: 3 });
    await write({ 'in/a/9.jsonl': ids(4), 'in/b/1.jsonl': ids(5), 'in/c.jsonl': ids(6) });
    expect(await run()).toMatchObject({ posts: 6, added: 3 });
    expect(await run()).toMatchObject({ posts: 6, added: 0 });
    expect(await written()).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  it('makes the sink call onFile again only for outputs that grew', async () => {
    const called: string[] = [];
    const hand = () =>
      pipeline(
        localFiles(join(folder, 'in'), { incremental: true }),
        jsonLines(),
        activities(),
        files({
          path: () => join(folder, 'out', called.length === 0 ? 'a.txt' : 'b.txt'),
          checkpoint: join(folder, 'out', 'checkpoint.json'),
          onFile: ({ path }) => called.push(basename(path)),
        }),
      );
    await write({ 'in/1.jsonl': ids(1) });
    await hand();
    await hand();
    expect(called).toEqual(['a.txt']);
    await write({ 'in/2.jsonl': ids(2) });
    await hand();
    await write({ 'in/3.jsonl': ids(3) });
    expect((await hand()).files.map(({ handedOn }) => handedOn)).toEqual([1, 3]);
    expect(called).toEqual(['a.txt', 'b.txt', 'b.txt']);
  });

  it('reads nothing again in a second run over gzip files', async () => {
    await write({ 'in/1.jsonl.gz': gzipSync(ids(1)) });
    expect(await run('out', 'refuse')).toMatchObject({ posts: 1, added: 1 });
    expect(await run('out', 'refuse')).toMatchObject({ posts: 1, added: 0 });
  });

  it('continues after a run that failed between two files', async () => {
    await write({ 'in/1.jsonl': ids(1), 'in/2.jsonl': ids(2) });
    await run();
    await write({ 'in/0.jsonl': ids(3), 'in/3.jsonl': 'damaged\n' });
    await expect(run()).rejects.toThrow('3.jsonl');
    await write({ 'in/3.jsonl': ids(4) });
    expect(await run()).toMatchObject({ posts: 4 });
    expect((await written()).sort()).toEqual(['1', '2', '3', '4']);
  });

  it('accepts a folder that is empty at first', async () => {
    await mkdir(join(folder, 'in'));
    expect(await run()).toMatchObject({ posts: 0, added: 0 });
    await write({ 'in/1.jsonl': ids(1, 2), 'in/2.jsonl': ids(3) });
    expect(await run()).toMatchObject({ posts: 3, added: 3 });
  });

  it('continues after one of the files was removed', async () => {
    await write({ 'in/1.jsonl': ids(1, 2), 'in/2.jsonl': ids(3) });
    await run();
    await rm(join(folder, 'in/2.jsonl'));
    expect(await run()).toMatchObject({ posts: 3, added: 0 });
  });

  it.each([
    ['a smaller one', ids(2)],
    ['one of the same size', ids(4, 5)],
  ])(
    'reports once that a file was replaced by %s, and does not read it again',
    async (_, content) => {
      await write({ 'in/1.jsonl': ids(1, 2), 'in/2.jsonl': ids(3) });
      const before = new Date(Date.now() - 60_000);
      await utimes(join(folder, 'in/1.jsonl'), before, before);
      expect(await run()).not.toHaveProperty('changedFiles');
      await write({ 'in/1.jsonl': content });
      const notes: (string | undefined)[] = [];
      const note = ({ note }: ProgressCounts) => notes.push(note);
      expect(await run('out', 'pass', note)).toMatchObject({ posts: 3, added: 0, changedFiles: 1 });
      expect(notes.at(-1)).toBe(
        `${join(folder, 'in/1.jsonl')} changed after an earlier run read it: not read again`,
      );
      expect(await run()).not.toHaveProperty('changedFiles');
      expect(await written()).toEqual(['1', '2', '3']);
    },
  );

  it('reports replaced files in the results of committed() and tee()', async () => {
    const target = new StandIn<Uint8Array>();
    const sink = committed<Uint8Array>(target.transactions);
    const branches = new StandIn<Uint8Array>();
    const both = tee(
      files({ path: join(folder, 'copy.jsonl') }),
      committed<Uint8Array>(branches.transactions),
    );
    const source = () => localFiles(join(folder, 'in'), { incremental: true });
    await write({ 'in/1.jsonl': ids(1, 2), 'in/2.jsonl': ids(3, 4) });
    await pipeline(source(), sink);
    await pipeline(source(), jsonLines(), both);
    await write({ 'in/1.jsonl': ids(1), 'in/2.jsonl': ids(4) });
    expect(await pipeline(source(), sink)).toMatchObject({ added: 0, changedFiles: 2 });
    expect(await pipeline(source(), jsonLines(), both)).toMatchObject([
      { added: 0, changedFiles: 2 },
      { added: 0, changedFiles: 2 },
    ]);
  });

  it('accepts a checkpoint without modification times, which an earlier version wrote', async () => {
    await write({ 'in/1.jsonl': 'a\n', 'in/2.jsonl': 'b\n' });
    const flow = localFiles(join(folder, 'in'), { incremental: true });
    const cursor = { source: 'local-files', read: { '1.jsonl': 2 } };
    expect(await contents(flow, cursor)).toEqual(['b\n']);
  });

  describe('with several folders that contain files of the same names', () => {
    const several = (incremental = true) =>
      localFiles([join(folder, 'a'), join(folder, 'b')], { incremental });
    beforeEach(() => write({ 'a/x.jsonl': 'a x\n', 'b/x.jsonl': 'b x\n', 'b/y.jsonl': 'b y\n' }));

    it('reads each file exactly once, even if the previous run ended at any file', async () => {
      const batches = await batchesOf(several());
      const all = ['a x\n', 'b x\n', 'b y\n'];
      expect(batches.flatMap(batch => shown(batch).items)).toEqual(all);
      for (const [index, { cursor }] of batches.entries()) {
        const resume = JSON.parse(JSON.stringify(cursor));
        expect(await contents(several(), resume)).toEqual(all.slice(index + 1));
      }
      await write({ 'a/y.jsonl': 'a y, later\n' });
      const last = JSON.parse(JSON.stringify(batches.at(-1)?.cursor));
      expect(await contents(several(), last)).toEqual(['a y, later\n']);
    });

    it('reads a file once if both the file and its folder are listed', async () => {
      const twice = [join(folder, 'b'), join(folder, 'b/x.jsonl')];
      const flow = localFiles(twice, { incremental: true });
      expect(await contents(flow)).toEqual(['b x\n', 'b y\n']);
    });

    it('rejects a cursor of an earlier version, which does not name the folder', async () => {
      const cursor = { source: 'local-files', read: { 'x.jsonl': 4 } };
      await expect(contents(several(), cursor)).rejects.toThrow(
        /names of files without their folders.*Delete the checkpoint/,
      );
    });

    it('rejects a cursor of a run without `incremental` if another folder now has the file', async () => {
      await write({ 'a/w.jsonl': 'a w\n' });
      const second = (await batchesOf(several(false)))[1]?.cursor;
      await rm(join(folder, 'a/x.jsonl'));
      await expect(contents(several(false), second)).rejects.toThrow(StorageError);
    });
  });

  it('keeps failing because of a file that has grown, until that file is removed', async () => {
    await write({ 'in/1.jsonl': ids(1, 2), 'in/2.jsonl': ids(3) });
    await run();
    await write({ 'in/2.jsonl': ids(3, 4) });
    await expect(run()).rejects.toThrow(/2\.jsonl has grown since it was read/);
    await rm(join(folder, 'in/2.jsonl'));
    expect(await run()).toMatchObject({ posts: 3, added: 0 });
  });

  it.each([
    ['without threads', 0, 0],
    ['with threads', 1, 0],
    ['in blocks', 0, 9],
  ])(
    'rejects a file that grows during the run, and reads it in the next run, %s',
    async (_, workers, megabytes) => {
      await write({
        'in/a.json': ids(1),
        'in/b.json': ids(2) + '\n'.repeat(megabytes << 20),
      });
      const start = () =>
        pipeline(
          localFiles(join(folder, 'in'), { incremental: true }),
          jsonLines(),
          activities(),
          dedupe(),
          files({ path: join(folder, 'all.jsonl'), checkpoint: join(folder, 'run.json'), workers }),
          { progress: 'off' },
        );
      afterListing(file => appendFile(file, ids(3)));
      await expect(start()).rejects.toMatchObject({
        code: 'ERR_STORAGE',
        retryable: true,
        message: expect.stringMatching(
          /b\.json has grown since it was listed, from \d+ to \d+ bytes/,
        ),
      });
      expect(await start()).toMatchObject({ posts: 3 });
      expect(await start()).toMatchObject({ posts: 3, added: 0 });
    },
  );

  it('makes files() refuse an output that a later run would read', async () => {
    await write({ 'in/1.jsonl': ids(1), 'in/all.jsonl': ids(2) });
    await expect(run('in')).rejects.toThrow(StorageError);
    await expect(run('in')).rejects.toThrow(/all\.jsonl: localFiles\(\) reads that folder/);
    expect(await run('in/.hidden')).toMatchObject({ posts: 2 });
  });

  it('rejects the checkpoint of a run without `incremental`', async () => {
    await write({ 'in/1.jsonl': ids(1) });
    const once = (incremental: boolean) =>
      pipeline(
        localFiles(join(folder, 'in'), { incremental }),
        jsonLines(),
        activities(),
        files({ path: join(folder, 'x.jsonl'), checkpoint: join(folder, 'checkpoint') }),
      );
    await once(false);
    await expect(once(true)).rejects.toThrow(
      '`incremental` of localFiles() was not given and is now true',
    );
    const cursor = { source: 'local-files', files: 1, last: 'x', done: 'y' };
    const flow = localFiles(join(folder, 'in'), { incremental: true });
    await expect(batchesOf(flow, cursor)).rejects.toThrow(OptionError);
  });
});
