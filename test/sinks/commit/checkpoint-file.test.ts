import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { crc32, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { thisProcess } from '../../../src/base/process-identity.js';
import { type Cursor, Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { readCheckpoint, writeCheckpoint } from '../../../src/sinks/commit/checkpoint-file.js';
import { type FilesOptions, files } from '../../../src/sinks/files.js';
import { nodeFileSystem } from '../../../src/storage/file-system.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { places } from '../cursors.js';

const BATCHES = [['a', 'b'], ['c'], ['d', 'e'], ['f']];
const ALL = '"a"\n"b"\n"c"\n"d"\n"e"\n"f"\n';

function optionsIn(out: string, more: Partial<FilesOptions<string>> = {}): FilesOptions<string> {
  return { path: `${out}/x.jsonl`, checkpoint: `${out}/run.json`, commitIntervalMs: 0, ...more };
}

async function interrupt(options: FilesOptions<string>, after: number): Promise<void> {
  const broken = new Flow<string>(async function* (run) {
    let given = 0;
    for await (const batch of places(BATCHES).batches(run)) {
      if (given++ === after) throw new Error('interrupted');
      yield batch;
    }
  });
  await expect(pipeline(broken, files(options))).rejects.toThrow('interrupted');
}

function finish(options: FilesOptions<string>, onOpen?: (from: number) => void) {
  return pipeline(places(BATCHES, onOpen ? { onOpen } : {}), files(options));
}

function withRightSum(text: string): string {
  const body = text.slice(0, text.lastIndexOf('  "check"'));
  return `${body}  "check": "${crc32(body).toString(16).padStart(8, '0')}"\n}\n`;
}

describe('a checkpoint file', () => {
  it('stays unchanged if the next run fails before its first commit', async () => {
    const options = optionsIn(await temporaryFolder());
    await interrupt(options, 2);
    const before = await readFile(options.checkpoint as string, 'utf8');
    await interrupt(options, 0);
    expect(await readFile(options.checkpoint as string, 'utf8')).toBe(before);
    const opened: number[] = [];
    await finish(options, from => opened.push(from));
    expect(opened).toEqual([2]);
  });

  it('stays unchanged after another process has taken over the lock of the run', async () => {
    const options = optionsIn(await temporaryFolder());
    const checkpoint = options.checkpoint as string;
    let before = '';
    const taken = new Flow<string>(async function* (run) {
      let given = 0;
      for await (const batch of places(BATCHES).batches(run)) {
        if (given++ === 2) {
          before = await readFile(checkpoint, 'utf8');
          await rm(`${checkpoint}.lock`);
          const other = JSON.stringify({ ...thisProcess(), token: 'of another' });
          await writeFile(`${checkpoint}.lock`, other);
        }
        yield batch;
      }
    });
    await expect(pipeline(taken, files(options))).rejects.toThrow(/took .*run\.json\.lock over/);
    expect(await readFile(checkpoint, 'utf8')).toBe(before);
  });

  it('is the same after it is written and parsed, for any list of files', async () => {
    const file = `${await temporaryFolder()}/run.json`;
    const owner = { sink: { step: 'files' }, flow: [] };
    const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    const written = fc.record({
      path: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
      posts: count,
      bytes: count,
      lineBytes: count,
    });
    const many = fc.nat(3_000).chain(length =>
      fc.array(written, { maxLength: 5 }).map(some =>
        Array.from({ length }, (_, n) => ({
          path: `☃/${n}`,
          posts: n,
          bytes: n,
          lineBytes: n,
        })).concat(some),
      ),
    );
    await fc.assert(
      fc.asyncProperty(many, fc.json(), async (files, cursor) => {
        await writeCheckpoint(nodeFileSystem, file, { state: 'running', owner, cursor, files });
        const read = await readCheckpoint(nodeFileSystem, file, owner);
        expect(read).toEqual({ state: 'running', cursor: JSON.parse(cursor) ?? undefined, files });
      }),
      { numRuns: bySuite(8, 30) },
    );
  });

  it('lets the same script continue from where it stopped', async () => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out), 2);
    expect((await readdir(out)).sort()).toEqual(['run.json', 'x.jsonl.part']);
    expect(await readFile(`${out}/x.jsonl.part`, 'utf8')).toBe('"a"\n"b"\n"c"\n');
    const opened: number[] = [];
    const written = await finish(optionsIn(out), from => opened.push(from));
    expect(opened).toEqual([2]);
    expect(written).toEqual({
      posts: 6,
      bytes: 24,
      files: [{ path: `${out}/x.jsonl`, posts: 6, bytes: 24 }],
    });
    expect((await readdir(out)).sort()).toEqual(['run.json', 'x.jsonl']);
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(ALL);
  });

  it('of a complete run makes later runs return its result without work', async () => {
    const out = await temporaryFolder();
    const opened: number[] = [];
    const first = await finish(optionsIn(out), from => opened.push(from));
    expect(await finish(optionsIn(out), from => opened.push(from))).toEqual({
      ...first,
      completeSince: expect.any(Date),
    });
    expect(opened).toEqual([0]);
    await rm(`${out}/run.json`);
    expect(await finish(optionsIn(out), from => opened.push(from))).toEqual(first);
    expect(opened).toEqual([0, 0]);
  });

  const interruptedWithTwoFiles = async () => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out, { path: item => `${out}/${item < 'c' ? 1 : 2}.jsonl` }), 2);
    return out;
  };

  it('is readable and writable only by its owner', async () => {
    const out = await interruptedWithTwoFiles();
    expect((await stat(`${out}/run.json`)).mode & 0o777).toBe(0o600);
  });

  it('contains short JSON that a person can read', async () => {
    const out = await interruptedWithTwoFiles();
    const text = await readFile(`${out}/run.json`, 'utf8');
    expect(text.replaceAll(out, 'out')).toBe(`{
  "version": 1,
  "state": "running",
  "sink": {"step":"files","path":"(a function)","gzip":false,"maxBytes":null,"line":false},
  "flow": [],
  "posts": 3,
  "bytes": 12,
  "cursor": {"next":2},
  "files": [
    {"path":"out/1.jsonl","posts":2,"bytes":8},
    {"path":"out/2.jsonl","posts":1,"bytes":4}
  ],
  "check": "${JSON.parse(text).check}"
}
`);
  });

  it('contains the cursor as it was at the commit, even if the source changes the object later', async () => {
    const out = await temporaryFolder();
    let now = 0;
    const source = new Flow<number>(async function* ({ resume }) {
      if (resume !== undefined) return;
      for (; now < 3; now++) yield { items: [now], cursor: { live: { toJSON: () => now } } };
      throw new Error('interrupted');
    });
    const options = { path: `${out}/x`, checkpoint: `${out}/run.json`, commitIntervalMs: 0 };
    await expect(pipeline(source, files<number>(options))).rejects.toThrow('interrupted');
    expect(JSON.parse(await readFile(`${out}/run.json`, 'utf8')).cursor).toEqual({ live: 2 });
  });

  it('is marked as complete at the end even if items follow the last cursor', async () => {
    const out = await temporaryFolder();
    const source = places(BATCHES, { cursorEvery: 3 });
    expect((await pipeline(source, files(optionsIn(out)))).posts).toBe(6);
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(ALL);
  });

  it('has no effect if the source has no cursors', async () => {
    const out = await temporaryFolder();
    async function* noPlaces() {
      yield 'a';
      throw new Error('interrupted');
    }
    await expect(pipeline(noPlaces(), files<string>(optionsIn(out)))).rejects.toThrow(
      'interrupted',
    );
    expect((await finish(optionsIn(out))).posts).toBe(6);
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(ALL);
  });

  it('is written at most once per interval', async () => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out, { commitIntervalMs: 60_000 }), 3);
    expect((await readdir(out)).includes('run.json')).toBe(false);
    expect((await finish(optionsIn(out, { commitIntervalMs: 60_000 }))).posts).toBe(6);
  });

  it('is written while the source already delivers items of the next commit', async () => {
    const out = await temporaryFolder();
    const batches = Array.from({ length: 400 }, (_, n) => [String(n)]);
    const slow = new Flow<string>(async function* (run) {
      for await (const batch of places(batches).batches(run)) {
        yield batch;
        if (Number(batch.items[0]) % 20 === 0) await new Promise(resolve => setTimeout(resolve, 3));
        if (batch.items[0] === '399') throw new Error('interrupted');
      }
    });
    const options = optionsIn(out, { commitIntervalMs: 2, line: item => item });
    await expect(pipeline(slow, files(options))).rejects.toThrow('interrupted');
    const { cursor, posts } = JSON.parse(await readFile(`${out}/run.json`, 'utf8'));
    expect(cursor.next).toBe(posts);
    expect(posts).toBeGreaterThan(0);
    await pipeline(places(batches), files(options));
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(batches.map(([n]) => `${n}\n`).join(''));
  });

  it('causes files to be truncated if they are longer than committed', async () => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out), 2);
    await writeFile(`${out}/x.jsonl.part`, `"torn ${'x'.repeat(100)}`, { flag: 'a' });
    await finish(optionsIn(out));
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(ALL);
  });

  it.each([
    [
      'shorter',
      (file: string) => truncate(file, 3),
      /has only 3 bytes, but 12 of its bytes are counted/,
    ],
    ['missing', (file: string) => rm(file), /is missing, but 12 of its bytes are counted/],
  ])('causes an error when a run resumes if an output is %s', async (_, damage, message) => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out), 2);
    await damage(`${out}/x.jsonl.part`);
    const run = finish(optionsIn(out));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toThrow(/Put the file back, or delete the checkpoint/);
    await expect(run).rejects.toMatchObject({ path: `${out}/x.jsonl.part` });
  });

  it('lets a run resume in gzip and in numbered files', async () => {
    const out = await temporaryFolder();
    const options = optionsIn(out, { gzip: true, maxBytes: 8 });
    await interrupt(options, 2);
    await finish(options);
    const names = (await readdir(out)).filter(name => name.endsWith('.gz')).sort();
    expect(names).toEqual(['x.0001.jsonl.gz', 'x.0002.jsonl.gz', 'x.0003.jsonl.gz']);
    const texts = await Promise.all(
      names.map(async name => gunzipSync(await readFile(`${out}/${name}`))),
    );
    expect(texts.map(String)).toEqual(['"a"\n"b"\n', '"c"\n"d"\n', '"e"\n"f"\n']);
  });

  it.each([
    ['another `path`', { path: 'other.jsonl' }],
    ['`gzip`', { gzip: true }],
    ['another `maxBytes`', { maxBytes: 7 }],
    ['another `line`', { line: (item: string) => item }],
  ] satisfies [string, Partial<FilesOptions<string>>][])(
    'causes a StorageError if the sink now has %s',
    async (_, more) => {
      const out = await temporaryFolder();
      await interrupt(optionsIn(out), 2);
      const run = finish(optionsIn(out, more));
      await expect(run).rejects.toThrow(StorageError);
      await expect(run).rejects.toThrow(/belongs to another sink: .*delete the checkpoint/);
    },
  );

  it.each([
    ['empty', () => '', /not a checkpoint/],
    ['truncated', (text: string) => text.slice(0, 100), /not a checkpoint/],
    ['of another kind', () => '[]', /of version undefined/],
    ['null', () => 'null', /not a checkpoint/],
    [
      'of another version',
      (text: string) => text.replace('"version": 1', '"version": 2'),
      /of version 2, not 1/,
    ],
    [
      'changed in one digit',
      (text: string) => text.replace('"bytes":12', '"bytes":11'),
      /damaged or was edited/,
    ],
    [
      'without its checksum',
      (text: string) => text.replace(/,\n {2}"check": "\w+"/, ''),
      /damaged or was edited/,
    ],
    ...(
      [
        ['a state that no run has', '"state": "running"', '"state": "paused"'],
        ['no sink', '"sink": {', '"sunk": {'],
        ['no flow', '"flow": []', '"flow": null'],
        ['stages that are strings', '"flow": []', '"flow": ["search"]'],
        ['files that are not a list', '"files": [', '"files": {}, "others": ['],
        ['files without a path', '{"path":', '{"name":'],
        ['a count below 0', '"bytes":12', '"bytes":-12'],
        ['a count that is a text', '"posts":3,', '"posts":"3",'],
      ] as const
    ).map(
      ([what, from, to]) =>
        [
          `edited to contain ${what}, with a correct checksum`,
          (text: string) => withRightSum(text.replace(from, to)),
          /damaged or was edited/,
        ] as const,
    ),
  ] as const)('causes an error if it is %s', async (_, damage, message) => {
    const out = await temporaryFolder();
    await interrupt(optionsIn(out), 2);
    await writeFile(`${out}/run.json`, damage(await readFile(`${out}/run.json`, 'utf8')));
    const run = finish(optionsIn(out));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toMatchObject({ path: `${out}/run.json` });
    expect((await readdir(out)).sort()).toEqual(['run.json', 'x.jsonl.part']);
  });

  it('is written into a folder that is created for it', async () => {
    const out = await temporaryFolder();
    await finish(optionsIn(out, { checkpoint: `${out}/a/b/run.json` }));
    expect(await readdir(`${out}/a/b`)).toEqual(['run.json']);
  });

  it('contains the state of operators in its cursor', async () => {
    const out = await temporaryFolder();
    const seen: (Cursor | undefined)[] = [];
    const source = new Flow<string>(async function* ({ resume }) {
      seen.push(resume);
      if (resume === undefined) {
        yield { items: ['a'], cursor: { at: { $: ['deep', { er: '9007199254740993' }] } } };
        throw new Error('interrupted');
      }
    });
    await expect(pipeline(source, files(optionsIn(out)))).rejects.toThrow('interrupted');
    await pipeline(source, files(optionsIn(out)));
    expect(seen).toEqual([undefined, { at: { $: ['deep', { er: '9007199254740993' }] } }]);
  });
});
