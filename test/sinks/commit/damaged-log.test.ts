import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DataError, OptionError, StorageError } from '../../../src/base/errors.js';
import { Secret } from '../../../src/base/secret.js';
import { Flow, type Sink } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import type { RunSummary } from '../../../src/flow/progress.js';
import type { JsonRecord } from '../../../src/json/records.js';
import { activities } from '../../../src/operators/activities.js';
import { compose } from '../../../src/operators/compose.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import { map } from '../../../src/operators/map.js';
import { mapAsync } from '../../../src/operators/map-async.js';
import { through } from '../../../src/operators/through.js';
import { Activity } from '../../../src/post/activity.js';
import { collect } from '../../../src/sinks/collect.js';
import type { Written } from '../../../src/sinks/commit/run-result.js';
import { csv, csvOn } from '../../../src/sinks/csv.js';
import { files, filesOn } from '../../../src/sinks/files.js';
import { parquet, parquetOn } from '../../../src/sinks/parquet.js';
import { tee } from '../../../src/sinks/tee.js';
import { localFiles } from '../../../src/sources/local-files.js';
import { nodeError, PowerCut, SimulatedDisk, seeded } from '../../storage/simulated-disk.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { unchecked } from '../../unchecked.js';
import {
  bytesOf,
  damagedIn,
  documents,
  FLOWS,
  idsIn,
  keptIn,
  LF,
  type Line,
  linesOf,
  post,
  postsOf,
  rawOf,
  shapes,
} from '../damaged.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});

async function logIn(name = 'damaged.jsonl'): Promise<Line[]> {
  return linesOf(await readFile(path.join(folder, name), 'utf8'));
}

async function stored(name: string, ...lines: readonly (string | Buffer)[]): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, Buffer.concat(lines.flatMap(line => [Buffer.from(line), LF])));
  return file;
}

const to = (name: string) => path.join(folder, name);

/** The columns of `csv` and `parquet` refuse every seventh post, because it has no valid value. */
const isRefused = (id: string) => Number(id) % 7 === 0;
const COLUMNS = [
  {
    name: 'id',
    type: 'string',
    value: (item: Activity): string => {
      if (isRefused(item.id)) throw new RangeError(`refused ${item.id}`);
      return item.id;
    },
  },
] as const;

describe('the file of damaged records of a sink', () => {
  it('contains a damaged result once, even if the next run gets another token for the page of the result', async () => {
    const source = (next: string, fails: boolean) =>
      new Flow<string>(async function* ({ resume, damaged }) {
        const stage = damaged?.stage();
        const cursor = { at: 1 };
        if (resume === undefined) stage?.reached(cursor);
        const request = { query: 'rain', next };
        const record = { raw: Buffer.from('{}'), record: 3, request };
        // The source has read this record ahead. The next cursor that it delivers is at a position
        // before the record.
        await stage?.keep(record, new DataError('No id'));
        if (resume === undefined) yield { items: ['a'], cursor };
        if (fails) throw new Error('the source is broken');
        yield { items: ['b'], cursor: { at: 2 } };
      });
    const run = (next: string, fails: boolean) =>
      pipeline(
        source(next, fails),
        files({
          path: to('x.jsonl'),
          checkpoint: to('c.json'),
          damaged: to('damaged.jsonl'),
          commitIntervalMs: 0,
        }),
      );
    await expect(run('first', true)).rejects.toThrow('broken');
    expect(await run('second', false)).toMatchObject({ posts: 2, damaged: 1 });
    expect(await logIn()).toMatchObject([{ text: '{}', request: { next: 'first' } }]);
  });

  it('contains a record once if a run is continued that ended after two stages had read ahead', async () => {
    const source = (fails: boolean) =>
      new Flow<string>(async function* ({ resume, damaged }) {
        const [first, second] = [damaged?.stage(), damaged?.stage()];
        // Both records come after the cursor that is committed, and the first one was logged first.
        await first?.keep({ raw: Buffer.from('1'), record: 1 }, new DataError('No id'));
        await second?.keep({ raw: Buffer.from('2'), record: 2 }, new DataError('No id'));
        if (resume === undefined) yield { items: ['a'], cursor: { at: 1 } };
        if (fails) throw new Error('the source is broken');
        yield { items: ['b'], cursor: { at: 2 } };
      });
    const run = (fails: boolean) =>
      pipeline(
        source(fails),
        files({
          path: to('x.jsonl'),
          checkpoint: to('c.json'),
          damaged: to('damaged.jsonl'),
          commitIntervalMs: 0,
        }),
      );
    await expect(run(true)).rejects.toThrow('broken');
    expect(await run(false)).toMatchObject({ posts: 2, damaged: 2 });
    expect((await logIn()).map(({ text }) => text)).toEqual(['1', '2']);
  });

  describe('for a source with four damaged lines of six', () => {
    const notUtf8 = Buffer.from([0x7b, 0xff, 0x00, 0xe2]);
    const inside = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    let file: string;
    let written: Written;
    beforeEach(async () => {
      file = await stored('a.jsonl', post(1), 'nul\t"é"', notUtf8, post(2), '{"x":1}', inside);
      written = await pipeline(
        postsOf(file),
        files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }),
      );
    });

    it('lets the run skip the damaged lines and count them', async () => {
      expect(written).toMatchObject({ posts: 2, damaged: 4 });
      expect(await readFile(to('out.jsonl'), 'utf8')).toBe(`${post(1)}\n${post(2)}\n`);
    });

    it('contains the exact bytes of each damaged line', async () => {
      expect((await logIn()).map(rawOf)).toEqual(
        [Buffer.from('nul\t"é"'), notUtf8, Buffer.from('{"x":1}'), inside].map(b => Buffer.from(b)),
      );
    });

    it('contains the position of each damaged line, and the line itself as text or base64', async () => {
      const lines = await logIn();
      expect(lines[0]).toMatchObject({
        origin: file,
        line: 2,
        byteOffset: post(1).length + 1,
        text: 'nul\t"é"',
      });
      expect(lines[1]).toMatchObject({ line: 3, base64: notUtf8.toString('base64') });
      // Lines 2 and 3 are damaged, so they do not reach the second stage.
      expect(lines[2]).toMatchObject({ origin: file, record: 3, text: '{"x":1}' });
      expect(lines[3]).toMatchObject({
        origin: file,
        record: 4,
        base64: inside.toString('base64'),
      });
    });

    it('contains the reason for each damaged line', async () => {
      const [first] = await logIn();
      expect(first?.error).toMatchObject({ name: 'DataError', code: 'ERR_DATA' });
      expect(first?.error.message).toMatch(/^Expected a JSON object on each line: .*line 2, byte/);
    });
  });

  it('contains 64-bit ids with every digit', async () => {
    const text = '{"id":9223372036854775807,"text":"\\ud83d\\ude00",}';
    const file = await stored('a.jsonl', text);
    await pipeline(postsOf(file), files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }));
    expect((await logIn())[0]?.text).toBe(text);
  });

  it('marks a record of which it contains only the first bytes', async () => {
    const file = await stored('a.jsonl', post(1), `{"id_str":"2","x":"${'é'.repeat(50)}"}`);
    const written = await pipeline(
      localFiles(file),
      jsonLines({ maxBytes: 40 }),
      activities(),
      files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }),
    );
    expect(written).toMatchObject({ posts: 1, damaged: 1 });
    const [line] = await logIn();
    expect(line).toMatchObject({ truncated: true, line: 2 });
    expect(rawOf(line as Line).length).toBe(40);
  });

  it('is not created if no record is damaged, and the count is 0', async () => {
    const file = await stored('a.jsonl', post(1));
    const sink = files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') });
    expect(await pipeline(postsOf(file), sink)).toMatchObject({ posts: 1, damaged: 0 });
    expect(await readdir(folder)).toEqual(['a.jsonl', 'out.jsonl']);
    const plain = await pipeline(postsOf(file), files({ path: to('out.jsonl') }));
    expect('damaged' in plain).toBe(false);
  });

  it('is necessary to continue: without the option, a run ends at a damaged record', async () => {
    const file = await stored('a.jsonl', post(1), 'null');
    await expect(pipeline(postsOf(file), files({ path: to('out.jsonl') }))).rejects.toThrow(
      DataError,
    );
  });

  it('contains a record only after the `onDamaged` of the stage has resolved', async () => {
    const file = await stored('a.jsonl', 'null', post(1), '{}');
    const told: string[] = [];
    const onDamaged = async ({ raw }: { readonly raw: Buffer }) => {
      await new Promise(setImmediate);
      const there = await readdir(folder);
      told.push(`${raw} ${there.filter(name => name.startsWith('damaged')).length}`);
    };
    const written = await pipeline(
      localFiles(file),
      jsonLines({ onDamaged }),
      activities({ onDamaged }),
      files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }),
    );
    expect(written).toMatchObject({ posts: 1, damaged: 2 });
    expect(told.map(text => text.split(' ')[0])).toEqual(['null', '{}']);
    expect(told[0]).toBe('null 0');
    expect((await logIn()).map(({ text }) => text)).toEqual(['null', '{}']);
  });

  it('does not contain a record if `onDamaged` throws', async () => {
    const file = await stored('a.jsonl', post(1), 'null');
    const error = new Error('enough');
    const onDamaged = () => {
      throw error;
    };
    const run = pipeline(
      localFiles(file),
      jsonLines({ onDamaged }),
      files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }),
    );
    await expect(run).rejects.toBe(error);
    expect(await readdir(folder)).not.toContain('damaged.jsonl.part');
  });

  describe('for a source with three damaged records of five', () => {
    const summarized = async () => {
      const file = await stored('a.jsonl', 'null', post(1), '{}', '1', post(7));
      return new Promise<RunSummary>(resolve => {
        void pipeline(
          postsOf(file),
          csv({
            path: to('out.csv'),
            checkpoint: to('run.json'),
            damaged: to('damaged.jsonl'),
            columns: COLUMNS,
          }),
          { onSummary: resolve },
        );
      });
    };

    it('makes the run count each record as dropped once', async () => {
      expect((await summarized()).dropped.get('damaged')).toBe(4);
    });

    it('does not make the run count the records as written', async () => {
      expect((await summarized()).written).toBe(1);
      const checkpoint = JSON.parse(await readFile(to('run.json'), 'utf8'));
      expect(checkpoint).toMatchObject({ posts: 1, bytes: (await readFile(to('out.csv'))).length });
    });
  });

  it('contains records of earlier stages, even if a Node or web stream is in between', async () => {
    const file = await stored('a.jsonl', 'null', post(1));
    const options = { path: to('out.jsonl'), damaged: to('damaged.jsonl') };
    for (const stream of [
      new PassThrough({ objectMode: true }),
      new TransformStream<Activity, Activity>(),
    ]) {
      const written = await pipeline(
        postsOf(file),
        through<Activity, Activity>(stream),
        files(options),
      );
      expect(written).toMatchObject({ posts: 1, damaged: 1 });
    }
  });

  it('contains no secret in the reason and the origin of a record', async () => {
    const secret = new Secret('correct-horse-battery');
    const source = new Flow<Activity>(async function* () {
      const origin = `http://127.0.0.1/${secret.reveal()}`;
      yield { items: [new Activity(Buffer.from(post(1)))], origin };
    });
    await pipeline(
      source,
      csv({
        path: to('out.csv'),
        damaged: to('damaged.jsonl'),
        columns: [
          {
            name: 'x',
            type: 'string',
            value: (): string => {
              throw new TypeError(`no ${secret.reveal()}`);
            },
          },
        ],
      }),
    );
    expect((await logIn())[0]).toEqual({
      origin: 'http://127.0.0.1/[redacted]',
      error: { name: 'TypeError', message: 'no [redacted]' },
      text: post(1),
    });
  });
});

describe('a sink with the option `damaged`', () => {
  const damaged = () => to('damaged.jsonl');

  it.each<[string, () => Sink<Activity, unknown>, RegExp]>([
    [
      'the same as its `path`',
      () => files({ path: 'out/a.jsonl', damaged: './out/a.jsonl' }),
      /files: `damaged` must differ from `path`, got "\.\/out\/a\.jsonl"/,
    ],
    [
      'the same as its `checkpoint`',
      () => csv({ path: 'out/a.csv', checkpoint: 'out/c.json', damaged: 'out/c.json' }),
      /csv: `damaged` must differ from the checkpoint/,
    ],
    [
      'the lock of the checkpoint',
      () => parquet({ path: 'a.parquet', checkpoint: 'c.json', damaged: 'c.json.lock' }),
      /parquet: `damaged` must differ from the checkpoint/,
    ],
    [
      'the name of a .part file',
      () => files({ path: 'a.jsonl', damaged: 'b.part' }),
      /must not end in \.part/,
    ],
    [
      'a name of a compressed file',
      () => files({ path: 'a.jsonl', damaged: 'b.jsonl.gz' }),
      /must not end in \.gz or \.zst: the file is not compressed/,
    ],
    [
      'the path of a branch',
      () => tee(files({ path: 'a.jsonl' }), { damaged: 'a.jsonl' }),
      /tee: `damaged` must differ from `path`/,
    ],
    [
      'set in a branch of tee',
      () => tee(files({ path: 'a.jsonl', damaged: 'b.jsonl' }), { checkpoint: 'c.json' }),
      /files: `damaged` must not be given in branch 1 of tee\(\): give it to tee itself/,
    ],
    [
      'set although no branch of tee writes files',
      () => tee(collect(), { damaged: 'b.jsonl' }),
      /tee: `damaged` needs a branch that writes files/,
    ],
  ])('throws an OptionError if the option is %s', (_, make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(OptionError);
  });

  it('renames an output file that would have the name of the damaged file', async () => {
    const file = await stored('a.jsonl', post(1), 'null');
    const written = await pipeline(
      postsOf(file),
      files({ path: () => damaged(), damaged: damaged() }),
    );
    expect(written.files.map(({ path: name }) => path.basename(name))).toEqual(['damaged%=.jsonl']);
    expect((await logIn()).map(({ text }) => text)).toEqual(['null']);
  });

  it('ends the run if another run writes to the same damaged file', async () => {
    const file = await stored('a.jsonl', 'null', post(1));
    const other = await stored('b.jsonl', 'null', post(2));
    let begun = () => {};
    const isBegun = new Promise<void>(resolve => {
      begun = resolve;
    });
    let end = () => {};
    const isOver = new Promise<void>(resolve => {
      end = resolve;
    });
    const first = pipeline(
      postsOf(file),
      mapAsync(async item => {
        begun();
        await isOver;
        return item;
      }),
      files({ path: to('one.jsonl'), damaged: damaged(), checkpoint: to('c.json') }),
    );
    await isBegun;
    while (!(await readdir(folder)).includes('damaged.jsonl.part'))
      await new Promise(resolve => setImmediate(resolve));
    const second = pipeline(postsOf(other), files({ path: to('two.jsonl'), damaged: damaged() }));
    await expect(second).rejects.toThrow(/Another run writes .*damaged\.jsonl/);
    await expect(second).rejects.toBeInstanceOf(StorageError);
    end();
    expect(await first).toMatchObject({ posts: 1, damaged: 1 });
    expect((await logIn()).map(({ text }) => text)).toEqual(['null']);
  });

  it.each(['ENOSPC', 'EACCES'])(
    'ends the run with a typed error if writing the damaged file causes %s, and continues later',
    async code => {
      const disk = new SimulatedDisk();
      const lines = bytesOf([[1, -1, 1], [-2], [1]], 1);
      const run = () =>
        pipeline(
          postsOf(documents('one', lines)),
          filesOn(disk, { ...EACH, path: '/out/posts.jsonl' }),
        );
      disk.before = (call, file) => {
        if ((call === 'write' || call === 'open') && file === `${OUT.damaged}.part`)
          throw nodeError(code, call);
      };
      const failed = run();
      await expect(failed).rejects.toBeInstanceOf(StorageError);
      await expect(failed).rejects.toThrow(/\/out\/damaged\.jsonl\.part.*run the same again/);
      disk.before = () => {};
      expect(await run()).toMatchObject({ posts: 3, damaged: 2 });
      expect(keptOn(disk)).toEqual(['null', '{}']);
    },
  );

  it('ends the run if a folder has the name of the damaged file', async () => {
    await mkdir(to('damaged.jsonl.part'));
    const file = await stored('a.jsonl', post(1), 'null');
    const run = pipeline(postsOf(file), files({ path: to('out.jsonl'), damaged: damaged() }));
    await expect(run).rejects.toBeInstanceOf(StorageError);
  });

  it('returns the same counts for a complete run, even if the damaged file is missing', async () => {
    const file = await stored('a.jsonl', post(1), 'null');
    const run = () =>
      pipeline(
        postsOf(file),
        files({ path: to('out.jsonl'), damaged: damaged(), checkpoint: to('c.json') }),
      );
    const first = await run();
    expect(await run()).toMatchObject({ ...first, completeSince: expect.any(Date) });
    await rm(damaged());
    expect(await run()).toMatchObject({ ...first, completeSince: expect.any(Date) });
  });

  it('adds the records of the next incremental run to the damaged file, or starts a new one', async () => {
    await mkdir(to('in'));
    const add = (name: string, ...lines: readonly string[]) =>
      writeFile(to(`in/${name}.jsonl`), lines.map(line => `${line}\n`).join(''));
    const run = () =>
      pipeline(
        postsOf(localFiles(to('in'), { incremental: true })),
        files({ path: to('out.jsonl'), damaged: damaged(), checkpoint: to('c.json') }),
      );
    const kept = async () => (await logIn()).map(({ text }) => text);
    await add('1', 'one', post(1));
    expect(await run()).toMatchObject({ posts: 1, damaged: 1 });
    await add('2', post(2), 'two');
    expect(await run()).toMatchObject({ posts: 2, added: 1, damaged: 2 });
    expect(await kept()).toEqual(['one', 'two']);
    await rm(damaged());
    await add('3', post(3));
    expect(await run()).toMatchObject({ posts: 3, added: 1, damaged: 0 });
    await add('4', 'four');
    expect(await run()).toMatchObject({ posts: 3, added: 0, damaged: 1 });
    expect(await kept()).toEqual(['four']);
  });

  it.each(['without the option', 'with another path'])(
    'completes the damaged file of an earlier run when the next run continues %s',
    async how => {
      const disk = new SimulatedDisk();
      const lines = bytesOf([[1, -1], [1], [1, ...(how === 'with another path' ? [-2] : [])]], 1);
      const isAt = { id: '2' };
      const run = (damaged: string | undefined) =>
        pipeline(
          postsOf(documents('one', lines)),
          map((item: Activity) => {
            if (item.id === isAt.id) throw new Error('stopped');
            return item;
          }),
          filesOn(disk, { ...EACH, path: '/out/posts.jsonl', damaged }),
        );
      await expect(run(OUT.damaged)).rejects.toThrow('stopped');
      isAt.id = '';
      const other = how === 'with another path' ? '/out/more.jsonl' : undefined;
      expect(await run(other)).toMatchObject({ posts: 3, damaged: other === undefined ? 1 : 2 });
      expect(keptOn(disk)).toEqual(['null']);
      if (other !== undefined) expect(disk.read(other).toString()).toContain('"text":"{}"');
    },
  );

  it('keeps every damaged record, even if an earlier run without the option ended at one', async () => {
    const disk = new SimulatedDisk();
    const lines = bytesOf([[1, -1], [1], [-5]], 1);
    const run = (isStopped: boolean, damaged: string | undefined) =>
      pipeline(
        postsOf(documents('one', lines)),
        map((item: Activity) => {
          if (isStopped && item.id === '2') throw new Error('stopped');
          return item;
        }),
        filesOn(disk, { ...EACH, path: '/out/posts.jsonl', damaged }),
      );
    await expect(run(true, OUT.damaged)).rejects.toThrow('stopped');
    await expect(run(false, undefined)).rejects.toThrow(DataError);
    expect(await run(false, OUT.damaged)).toMatchObject({ posts: 2, damaged: 2 });
    expect(keptOn(disk)).toEqual(['null', '\xff']);
  });

  it.each([
    {
      what: 'a record once, even if the next run crashes before the record is reported again',
      damaged: [[2, 'null']] as const,
      crashAt: 2,
      readAhead: ['null'],
    },
    {
      what: 'two records once that were read ahead, even if the next run crashes between them',
      damaged: [
        [1, 'null'],
        [3, '[]'],
      ] as const,
      crashAt: 3,
      readAhead: ['[]', 'null'],
    },
  ])('keeps $what', async ({ damaged: list, crashAt, readAhead }) => {
    const disk = new SimulatedDisk();
    const damagedAt = new Map<number, string>(list);
    /**
     * Creates a source that reports each damaged record before the item whose number is its key in
     * `damagedAt`.
     */
    const source = (readsAhead: boolean, stopAt: number) =>
      new Flow<string>(async function* ({ resume, damaged }) {
        const stage = damaged?.stage();
        const keep = async (at: number) => {
          const text = damagedAt.get(at);
          if (text === undefined) return;
          const record = { raw: Buffer.from(text), byteOffset: 7 * at, origin: 'one' };
          await stage?.keep(record, new DataError('No object'));
        };
        if (readsAhead) for (const at of damagedAt.keys()) await keep(at);
        for (let at = Number(resume?.at ?? 0); at < 4; at++) {
          if (at === stopAt) throw new Error('stopped');
          if (!readsAhead) await keep(at);
          const cursor = { at: at + 1 };
          if (!readsAhead) stage?.reached(cursor);
          yield { items: [`"${at}"`], cursor };
        }
      });
    const run = (readsAhead: boolean, stopAt: number) =>
      pipeline(
        source(readsAhead, stopAt),
        filesOn<string>(disk, { ...EACH, path: '/out/posts.jsonl', line: text => text }),
      );
    await expect(run(true, 1)).rejects.toThrow('stopped');
    expect(keptIn(String(disk.read(`${OUT.damaged}.part`)))).toEqual(readAhead);
    await expect(run(false, crashAt)).rejects.toThrow('stopped');
    const damaged = damagedAt.size;
    expect(await run(false, Number.POSITIVE_INFINITY)).toMatchObject({ posts: 4, damaged });
    expect(keptOn(disk)).toEqual(readAhead);
  });

  it('keeps each record once, even if records are reported again after crashes', async () => {
    const disk = new SimulatedDisk();
    const lines = bytesOf([[1], [1], [1], [-1], [1], [1], [1], [1]], 1);
    // After reading ahead, each run stops at a later post than the run before it.
    for (const stopAt of ['2', '3', '4', '5', '']) {
      const run = pipeline(
        FLOWS['a source that is read ahead']?.(lines, []) as Flow<Activity>,
        map((item: Activity) => {
          if (item.id === stopAt) throw new Error('stopped');
          return item;
        }),
        filesOn(disk, { ...EACH, path: '/out/posts.jsonl' }),
      );
      if (stopAt === '') expect(await run).toMatchObject({ posts: 7, damaged: 1 });
      else await expect(run).rejects.toThrow('stopped');
    }
    expect(keptOn(disk)).toEqual(['null']);
  });

  it('may get the option when a run is continued', async () => {
    const disk = new SimulatedDisk();
    const lines = bytesOf([[1], [1, -1], [1]], 1);
    const run = (damaged: string | undefined) =>
      pipeline(
        postsOf(documents('one', lines)),
        filesOn(disk, { ...EACH, path: '/out/posts.jsonl', damaged }),
      );
    await expect(run(undefined)).rejects.toThrow(DataError);
    expect(await run(OUT.damaged)).toMatchObject({ posts: 3, damaged: 1 });
    expect(keptOn(disk)).toEqual(['null']);
  });

  it('keeps posts that do not fit the columns as damaged records, and writes all others', async () => {
    const file = await stored('a.jsonl', post(7), post(8), post(14), post(15));
    const other = postsOf(file);
    const options = { damaged: damaged(), columns: COLUMNS };
    const written = await pipeline(
      other,
      csv<Activity>({ ...options, path: ({ id }) => to(`out/${id}.csv`) }),
    );
    expect(written).toMatchObject({ posts: 2, damaged: 2 });
    expect((await readdir(to('out'))).toSorted()).toEqual(['15.csv', '8.csv']);
    const [first] = await logIn();
    expect(first).toEqual({
      origin: file,
      error: { name: 'RangeError', message: 'refused 7' },
      text: post(7),
    });
    const tables = await pipeline(
      postsOf(file),
      parquet<Activity>({ ...options, path: ({ id }) => to(`tables/${id}.parquet`) }),
    );
    expect(tables).toMatchObject({ posts: 2, damaged: 2 });
    expect((await readdir(to('tables'))).toSorted()).toEqual(['15.parquet', '8.parquet']);
  });

  it('keeps posts with an invalid path as damaged records', async () => {
    const dated = '{"id_str":"3","created_at":"Wed Oct 10 20:19:24 +0000 2018"}';
    const file = await stored('a.jsonl', post(1), dated);
    const written = await pipeline(
      postsOf(file),
      files({ path: to('{day}.jsonl'), damaged: damaged() }),
    );
    expect(written).toMatchObject({ posts: 1, damaged: 1 });
    expect((await logIn())[0]).toMatchObject({ text: post(1), error: { code: 'ERR_DATA' } });
  });

  it('keeps the bytes of a damaged post that spans several lines', async () => {
    const pretty = '{\n  "id_str": "7"\n}';
    const source = new Flow<Activity>(async function* () {
      yield { items: [new Activity(Buffer.from(pretty))] };
    });
    await pipeline(source, csv({ path: to('a.csv'), damaged: damaged(), columns: COLUMNS }));
    expect((await logIn())[0]?.text).toBe(pretty);
  });

  it('ends the run if the stages do not fit together, rather than keep every item as damaged', async () => {
    const file = await stored('a.jsonl', post(1));
    const options = { path: to('{tag}.jsonl'), damaged: damaged() };
    await expect(pipeline(postsOf(file), files(options))).rejects.toThrow(/needs routeByTag/);
    const lines = jsonLines()(localFiles(file));
    await expect(
      pipeline(lines, unchecked(csv({ path: to('a.csv'), damaged: damaged() }))),
    ).rejects.toThrow(/The columns of csv\(\) are of posts/);
  });

  it('ends the run at an error that does not concern one record', async () => {
    const file = await stored('a.jsonl', post(1));
    const promised = unchecked({ name: 'x', type: 'string', value: async () => 'x' });
    const run = pipeline(
      postsOf(file),
      csv({ path: to('a.csv'), damaged: damaged(), columns: [promised] }),
    );
    await expect(run).rejects.toBeInstanceOf(OptionError);
  });

  it('keeps an item only once if two branches of tee cannot write it', async () => {
    const lines = [post(7), post(1), post(7), post(14)];
    const refusing = (name: string) => csv({ path: to(name), columns: COLUMNS });
    const run = (source: Flow<Activity>, checkpoint?: string) =>
      pipeline(
        source,
        tee(refusing('a.csv'), refusing('b.csv'), { damaged: damaged(), checkpoint }),
      );
    const file = await stored('a.jsonl', ...lines);
    const copies = () =>
      postsOf(
        documents(
          'one',
          lines.map(line => [Buffer.from(line)]),
        ),
      );
    for (const [name, source] of [
      ['stored', postsOf(file)],
      ['items', copies()],
    ] as const) {
      const [a, b] = await run(source, to(`${name}.json`));
      expect([a, b]).toMatchObject([
        { posts: 1, damaged: 3 },
        { posts: 1, damaged: 3 },
      ]);
      expect((await logIn()).map(({ text }) => text)).toEqual([post(7), post(7), post(14)]);
      for (const left of ['a.csv', 'b.csv', 'damaged.jsonl']) await rm(to(left));
    }
  });

  it('keeps a record only once if activities() reports it in two branches of tee', async () => {
    const file = await stored('a.jsonl', '{}', post(1), '{}', '{"id_str":1}');
    // The bytes from a user's own source have no position, so two copies cannot be distinguished.
    const own = new Flow<Buffer>(async function* () {
      yield { items: ['{}', post(1), '{}', '{"id_str":1}'].map(text => Buffer.from(text)) };
    });
    for (const records of [jsonLines()(localFiles(file)), unchecked<Flow<JsonRecord>>(own)]) {
      const [a, b] = await pipeline(
        records,
        tee(
          compose(activities(), files({ path: to('a.out') })),
          compose(activities(), files({ path: to('b.out') })),
          { damaged: damaged() },
        ),
      );
      expect([a, b]).toMatchObject([
        { posts: 1, damaged: 3 },
        { posts: 1, damaged: 3 },
      ]);
      expect((await logIn()).map(({ text }) => text)).toEqual(['{}', '{}', '{"id_str":1}']);
    }
  });

  it('keeps no damaged records of a branch of tee that ends in collect()', async () => {
    const file = await stored('a.jsonl', '{}', post(1));
    const records = jsonLines()(localFiles(file));
    const run = (other: Sink<JsonRecord, unknown>) =>
      pipeline(
        records,
        tee(compose(activities(), files({ path: to('out.jsonl') })), other, { damaged: damaged() }),
      );
    expect((await run(collect()))[0]).toMatchObject({ posts: 1, damaged: 1 });
    expect((await logIn()).map(({ text }) => text)).toEqual(['{}']);
    const ids = compose(
      activities(),
      map((item: Activity) => item.id),
      collect(),
    );
    await expect(run(ids)).rejects.toThrow(DataError);
  });
});

const OUT = { checkpoint: '/out/run.json', damaged: '/out/damaged.jsonl' };
const EACH = { ...OUT, commitIntervalMs: 0 };

const SINKS: Readonly<Record<string, (disk: SimulatedDisk) => Sink<Activity, unknown>>> = {
  files: disk => filesOn(disk, { ...EACH, path: '/out/posts.jsonl' }),
  'files that commit at times': disk =>
    filesOn(disk, {
      ...OUT,
      commitIntervalMs: 2,
      path: ({ id }) => `/out/${Number(id) % 3}.jsonl`,
    }),
  csv: disk => csvOn<Activity>(disk, { ...EACH, path: '/out/posts.csv', columns: COLUMNS }),
  parquet: disk =>
    parquetOn<Activity>(disk, { ...EACH, path: '/out/posts.parquet', columns: COLUMNS }),
  tee: disk =>
    tee(
      filesOn(disk, { path: '/out/posts.jsonl', commitIntervalMs: 0 }),
      compose(
        map((item: Activity) => item),
        csvOn<Activity>(disk, { path: '/out/posts.csv', columns: COLUMNS, commitIntervalMs: 0 }),
      ),
      { ...OUT },
    ),
};

function keptOn(disk: SimulatedDisk): string[] {
  const log = disk.files().includes(OUT.damaged) ? disk.read(OUT.damaged).toString() : '';
  return keptIn(log);
}

function expectedOf(flow: string, sink: string, one: Buffer[][], other: Buffer[][]): string[] {
  const refuses = ['csv', 'parquet', 'tee'].includes(sink);
  const refused = refuses ? idsIn(flow, one, other).filter(isRefused).map(post) : [];
  return [...damagedIn(flow, one, other), ...refused].toSorted();
}

const RUNS = bySuite(2, 150);

describe.each(Object.keys(SINKS))('the damaged records kept by %s', name => {
  it.each(Object.keys(FLOWS))('are in the file exactly once after any crashes: %s', async flow => {
    await fc.assert(
      fc.asyncProperty(
        shapes,
        fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }),
        fc.integer(),
        async (shape, cuts, seed) => {
          const one = bytesOf(shape.documents, 1);
          const other = bytesOf(shape.others, 1_000);
          const disk = new SimulatedDisk();
          const run = () =>
            pipeline(
              (FLOWS[flow] as (typeof FLOWS)[string])(one, other),
              (SINKS[name] as (typeof SINKS)[string])(disk),
            );
          const random = seeded(seed);
          for (const cut of cuts) {
            disk.cutAt = cut;
            await run().catch(error => {
              if (!(error instanceof PowerCut)) throw error;
            });
            disk.restart(random);
          }
          const results = [await run()].flat() as Written[];
          const expected = expectedOf(flow, name, one, other);
          expect(keptOn(disk)).toEqual(expected);
          for (const { damaged } of results) expect(damaged).toBe(expected.length);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
