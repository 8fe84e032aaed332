import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MillraceError, StorageError } from '../../src/base/errors.js';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { batchesOf, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { compressBlockSync } from '../../src/gzip/compression.js';
import { inflateWholeHere } from '../../src/gzip/inflate-whole.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import type { Routed } from '../../src/post/activity.js';
import type { Written } from '../../src/sinks/commit/run-result.js';
import { csv } from '../../src/sinks/csv.js';
import { type FilesOptions, files } from '../../src/sinks/files.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { MOUNT, onDisk } from '../storage/mounted-disk.js';
import { nodeError, SimulatedDisk } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { withSmallFiles } from './with-small-files.js';

const DAYS = ['Oct 10', 'Oct 11', 'Oct 12'];

function post(id: number | bigint, tags: readonly string[], size = 10): string {
  const rules = tags.map((tag, index) => ({ tag, id: index + 1, id_str: `${index + 1}` }));
  const day = DAYS[Number(BigInt(id) % 3n)];
  return `{"created_at":"Wed ${day} 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${'é'.repeat(size)}","matching_rules":${JSON.stringify(rules)}}`;
}

async function contentsOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted();
  const contents: Record<string, string> = {};
  for (const name of names) {
    const bytes = await readFile(path.join(folder, name));
    // Threads may split the output into gzip members at different places, so the inflated content
    // is compared.
    const content = /\.(gz|zst)$/.test(name) ? await inflateWholeHere(bytes, 1e9) : bytes;
    contents[name] = (content as Buffer).toString('latin1');
  }
  return contents;
}

interface Options {
  readonly template?: string;
  readonly maxBytes?: number | undefined;
  readonly maxOpen?: number;
  readonly checkpoint?: boolean;
  readonly window?: number;
  readonly untagged?: string;
  readonly signal?: AbortSignal;
}

function sinkOf(template: string): (options: FilesOptions<Routed>) => Sink<Routed, Written> {
  if (!template.includes('.csv')) return files;
  return options => csv({ ...options, columns: ['id', 'posted_at', 'text', 'tag', 'rule_tags'] });
}

async function run(
  paths: readonly string[],
  out: string,
  workers: number,
  { template = '{tag}.jsonl', window, untagged, checkpoint, signal, ...limits }: Options = {},
) {
  await mkdir(out, { recursive: true });
  const result = await pipeline(
    localFiles(paths),
    gunzip(),
    jsonLines({ maxBytes: 20_000 }),
    activities(),
    dedupe({ window }),
    routeByTag({ untagged }),
    sinkOf(template)({
      path: path.join(out, template),
      workers,
      checkpoint: checkpoint ? path.join(out, 'checkpoint.json') : undefined,
      commitIntervalMs: 0,
      ...limits,
    }),
    { signal },
  ).then(
    ({ posts, bytes }) => (/\.(gz|zst)$/.test(template) ? { posts } : { posts, bytes }),
    (error: unknown) => {
      if (!(error instanceof MillraceError)) throw error;
      return { error: error.message.replaceAll(out, 'OUT'), code: error.code };
    },
  );
  const all = await contentsOf(out);
  // The checkpoint contains the folder's name, so it differs between runs.
  delete all['checkpoint.json'];
  return { result, files: 'error' in result ? undefined : all };
}

async function store(folder: string, contents: readonly Buffer[]): Promise<string[]> {
  const paths = contents.map((_, index) => path.join(folder, `${index}.gz`));
  for (const [index, content] of contents.entries()) await writeFile(paths[index]!, content);
  return paths;
}

async function threads(): Promise<number> {
  return process.platform === 'linux' ? (await readdir('/proc/self/task')).length : 0;
}

const gz = (lines: readonly string[]) => gzipSync(lines.map(line => `${line}\n`).join(''));

describe('stored files processed by worker threads', () => {
  it('produce the same output as on the main thread, whatever they contain', async () => {
    const folder = await temporaryFolder();
    const tags = fc.subarray(['rain', 'snow', 'a/b', '天気', 'untagged?', 'x'], { maxLength: 3 });
    const line = fc.oneof(
      {
        weight: 40,
        arbitrary: fc
          .tuple(fc.integer({ min: 1, max: 60 }), tags, fc.integer({ min: 0, max: 3_000 }))
          .map(([id, of, size]) => post(id, of, size)),
      },
      { weight: 2, arbitrary: fc.constant('{"info":{"message":"x"}}') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('', '{"text":"no id"}', 'not json', post(5, ['x'], 9_990)),
      },
    );
    const file = fc
      .tuple(fc.array(line, { maxLength: 15 }), fc.nat(20), fc.nat())
      .map(([lines, way, at]) => {
        const whole = gz(lines);
        if (way === 0) return whole.subarray(0, at % whole.length);
        if (way === 1) return Buffer.concat([whole, Buffer.alloc(3)]);
        return whole;
      });
    const writes = vi.spyOn(DecodedFile.prototype, 'write');
    const encodes = vi.spyOn(DecodedFile.prototype, 'encode');
    let round = 0;
    let whole = 0;
    const comesOutAsWithout = async (contents: readonly Buffer[], options: Options) => {
      const here = path.join(folder, `${round++}`);
      await mkdir(here);
      const paths = await store(here, contents);
      const expected = await run(paths, path.join(here, 'main'), 0, options);
      const threads = await run(paths, path.join(here, 'threads'), 2, options);
      expect(threads).toEqual(expected);
      if (expected.files !== undefined) whole++;
      await rm(here, { recursive: true });
    };
    // The generated input can be damaged or can have only one post per file. With this fixed input,
    // threads always write and encode files.
    for (const template of ['{tag}.jsonl', '{tag}.jsonl.gz', '{day}/{tag}.csv'])
      await comesOutAsWithout(
        [gz([post(1, ['rain', 'snow']), post(2, ['x'])]), gz([post(2, ['x']), post(3, ['rain'])])],
        { template, maxOpen: 2, checkpoint: true, window: 5, untagged: 'none' },
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 5 }),
        fc.record({
          template: fc.constantFrom(
            '{tag}.jsonl',
            '{day}/{tag}.jsonl',
            'all.jsonl',
            '{month}.jsonl',
            '{id}.jsonl',
            '{tag}.jsonl.gz',
            'all.jsonl.gz',
            '{day}/{tag}.csv',
            'all.csv.gz',
          ),
          maxBytes: fc.constantFrom(undefined, undefined, 1, 9_000),
          maxOpen: fc.constantFrom(1, 2, 64),
          checkpoint: fc.boolean(),
          window: fc.constantFrom(5, 100_000),
          untagged: fc.constantFrom('none', 'snow'),
        }),
        comesOutAsWithout,
      ),
      { numRuns: bySuite(7, 300), endOnFailure: true },
    );
    expect(whole).toBeGreaterThanOrEqual(3);
    expect(writes).toHaveBeenCalled();
    expect(encodes).toHaveBeenCalled();
  });

  it('produce the same output as on the main thread if outputs span several inputs', async () => {
    const folder = await temporaryFolder();
    const contents = Array.from({ length: 7 }, (_, file) =>
      gz(
        Array.from({ length: 300 }, (_, at) => post(file * 290 + at + 1, [`t${at % 150}`, 'all'])),
      ),
    );
    const paths = await store(folder, contents);
    const expected = await run(paths, path.join(folder, 'main'), 0);
    expect(Object.keys(expected.files ?? {})).toHaveLength(151);
    expect(await run(paths, path.join(folder, 'threads'), 3)).toEqual(expected);
  });

  it.skipIf(nodeZstd === undefined)(
    'can be read and written as zstd (from Node 22.15)',
    async () => {
      const folder = await temporaryFolder();
      const zstd = (lines: readonly string[]) =>
        Buffer.from(compressBlockSync(Buffer.from(`${lines.join('\n')}\n`), { kind: 'zstd' }));
      const paths = await store(folder, [
        zstd([post(1, ['rain', 'snow']), post(2, ['rain'])]),
        Buffer.concat([zstd([post(2, ['rain'])]), zstd([post(3, ['snow'])])]),
      ]);
      const encodes = vi.spyOn(DecodedFile.prototype, 'encode');
      const options = { template: '{tag}.jsonl.zst', checkpoint: true };
      const expected = await run(paths, path.join(folder, 'main'), 0, options);
      encodes.mockClear();
      expect(await run(paths, path.join(folder, 'threads'), 2, options)).toEqual(expected);
      expect(Object.keys(expected.files ?? {})).toEqual(['rain.jsonl.zst', 'snow.jsonl.zst']);
      expect(encodes).toHaveBeenCalledTimes(2);
      const rain = await readFile(path.join(folder, 'threads', 'rain.jsonl.zst'));
      expect(String(await inflateWholeHere(rain, 1e6)).split('\n')).toHaveLength(3);
    },
  );

  it('fill numbered output files in order even if the main thread must process some inputs', async () => {
    const folder = await temporaryFolder();
    const padded = Buffer.concat([gz([post(2, ['a'], 400), post(3, ['a'], 400)]), Buffer.alloc(3)]);
    const paths = await store(folder, [
      gz([post(1, ['a'], 400)]),
      padded,
      gz([post(4, ['a'], 10), post(5, ['a'], 400)]),
    ]);
    const options = { template: 'all.jsonl', maxBytes: 1_500 };
    const expected = await run(paths, path.join(folder, 'main'), 0, options);
    expect(Object.keys(expected.files ?? {}).length).toBeGreaterThan(2);
    expect(await run(paths, path.join(folder, 'threads'), 2, options)).toEqual(expected);
  });

  it('keep ids exact that a double cannot represent', async () => {
    const folder = await temporaryFolder();
    const ids = [9_007_199_254_740_993n, 9_007_199_254_740_992n, 18_446_744_073_709_551_615n];
    const paths = await store(folder, [gz([...ids, ...ids].map(id => post(id, ['a'])))]);
    const { result } = await run(paths, path.join(folder, 'out'), 1);
    expect(result).toMatchObject({ posts: 3 });
  });

  it.each([
    [2, 0],
    [0, 2],
    [2, 2],
  ])(
    'continue with %i threads from the checkpoint of a run with %i threads',
    async (second, first) => {
      const folder = await temporaryFolder();
      const good = Array.from({ length: 6 }, (_, file) =>
        gz(Array.from({ length: 50 }, (_, at) => post(file * 45 + at + 1, ['a', `b${at % 3}`]))),
      );
      const paths = await store(folder, good);
      const expected = await run(paths, path.join(folder, 'whole'), 0, { checkpoint: true });
      await writeFile(paths[4]!, good[4]!.subarray(0, 60));
      const out = path.join(folder, 'out');
      const failed = await run(paths, out, first, { checkpoint: true });
      expect(failed.result).toMatchObject({ code: 'ERR_DATA' });
      await writeFile(paths[4]!, good[4]!);
      // The cursor contains the sizes of the files that were read. The damaged file had another
      // size. Therefore, this run resumes only if the checkpoint was written before that file was
      // read.
      const resumed = await run(paths, out, second, { checkpoint: true });
      expect(resumed).toEqual(expected);
    },
  );

  it('are all written by a pipeline of concat() with a checkpoint', async () => {
    const folder = await temporaryFolder();
    const paths = await store(folder, [gz([post(1, ['a'])]), gz([post(2, ['a'])])]);
    const out = path.join(folder, 'out.jsonl');
    const { posts } = await pipeline(
      concat(localFiles(paths[0]!), localFiles(paths[1]!)),
      gunzip(),
      jsonLines(),
      activities(),
      files({ path: out, workers: 2, checkpoint: path.join(folder, 'c.json') }),
    );
    expect(posts).toBe(2);
  });

  it('are written in a pipeline without activities()', async () => {
    const folder = await temporaryFolder();
    const paths = await store(folder, [gz([post(1, ['a']), post(2, [])])]);
    const out = path.join(folder, 'out.jsonl');
    const { posts } = await pipeline(
      localFiles(paths),
      gunzip(),
      jsonLines(),
      files({ path: out, workers: 2 }),
    );
    expect(posts).toBe(2);
    expect(await readFile(out, 'utf8')).toBe(`${post(1, ['a'])}\n${post(2, [])}\n`);
  });

  it('leave no threads behind on an abort', async () => {
    const folder = await temporaryFolder();
    const many = gz(Array.from({ length: 3_000 }, (_, at) => post(at + 1, ['a'], 1_000)));
    const paths = await store(
      folder,
      Array.from({ length: 40 }, () => many),
    );
    await run([paths[0]!], path.join(folder, 'first'), 2);
    const before = await threads();
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 150);
    const running = pipeline(
      localFiles(paths),
      gunzip(),
      jsonLines(),
      activities(),
      files({ path: path.join(folder, 'out.jsonl'), workers: 2 }),
      { signal: controller.signal },
    );
    await expect(running).rejects.toBe(reason);
    expect(await threads()).toBeLessThanOrEqual(before);
  });

  it('make the run fail with ENOSPC when the disk is full', async () => {
    const folder = await temporaryFolder();
    const paths = await store(
      folder,
      Array.from({ length: 4 }, (_, file) =>
        gz(Array.from({ length: 200 }, (_, at) => post(file * 200 + at, ['a'], 2_000))),
      ),
    );
    const stdout = await withSmallFiles(
      'activities, files, gunzip, jsonLines, localFiles',
      `localFiles(${JSON.stringify(paths)}), gunzip(), jsonLines(), activities(), files({ path: ${JSON.stringify(path.join(folder, 'out.jsonl'))}, workers: 2 })`,
    );
    expect(stdout).toMatch(/^ERR_STORAGE .*out\.jsonl\.part.* EFBIG\n$/);
  });
});

it.each(['open', 'write', 'close'])(
  // Found by `npm run faults -- disks`, files-by-threads/EIO.
  'the error of a failing disk names the output file that a worker thread writes: %s',
  async failing => {
    const line = (id: number) =>
      `{"created_at":"Wed Oct 1${id} 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"a"}\n`;
    const disk = new SimulatedDisk();
    disk.put(`${MOUNT}/there`, Buffer.alloc(0));
    const failure = await onDisk(disk, async () => {
      await appendFile(`${MOUNT}/stored.json.gz`, gzipSync(line(1) + line(2)));
      disk.before = (call, file) => {
        if (call.startsWith(failing) && file.endsWith('.part'))
          throw nodeError('EIO', `${call} '${file}'`);
      };
      return pipeline(
        localFiles(`${MOUNT}/stored.json.gz`),
        gunzip(),
        jsonLines(),
        activities(),
        // With `maxOpen: 1`, opening the second file closes the first.
        files({ path: `${MOUNT}/{day}.jsonl`, workers: 1, maxOpen: 1 }),
      ).catch((error: unknown) => error);
    });
    expect(failure).toBeInstanceOf(StorageError);
    expect((failure as StorageError).path).toMatch(/^\/simulated\/2018-10-1[12]\.jsonl\.part$/);
  },
);

describe('stored posts read in a loop of the caller', () => {
  it('arrive in small batches in order, with a cursor after the last post of each file', async () => {
    const folder = await temporaryFolder();
    const counts = [150, 128, 0, 1];
    const paths = counts.map((_, file) => path.join(folder, `${file}.gz`));
    for (const [file, count] of counts.entries()) {
      const lines = Array.from({ length: count }, (_, n) => `${post(1_000 * file + n + 1, [])}\n`);
      await writeFile(paths[file]!, gzipSync(lines.join('')));
    }
    const seen: (readonly [number, boolean])[] = [];
    const ids: string[] = [];
    const posts = dedupe()(activities()(jsonLines()(gunzip()(localFiles(paths)))));
    for await (const { items, cursor } of batchesOf(posts)) {
      seen.push([items.length, cursor !== undefined]);
      ids.push(...items.map(({ id }) => id));
    }
    expect(seen).toEqual([
      [64, false],
      [64, false],
      [22, true],
      [64, false],
      [64, true],
      [0, true],
      [1, true],
    ]);
    expect(ids).toEqual(
      counts.flatMap((count, file) =>
        Array.from({ length: count }, (_, n) => `${1_000 * file + n + 1}`),
      ),
    );
  });
});
