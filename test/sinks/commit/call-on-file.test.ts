import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import type { Activity } from '../../../src/post/activity.js';
import type { WrittenFile } from '../../../src/sinks/commit/run-result.js';
import { type FilesOptions, files } from '../../../src/sinks/files.js';
import { parquet } from '../../../src/sinks/parquet.js';
import { tee } from '../../../src/sinks/tee.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { places } from '../cursors.js';
import { pages } from '../pages.js';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
const at = (...names: string[]) => path.join(folder, ...names);
const letters = () => places([['a1', 'b1'], ['c1', 'a2'], ['d1']]);
const options = () => ({
  path: (item: string) => at(`${item[0]}.txt`),
  checkpoint: at('checkpoint.json'),
});
const parquetOptions = () => ({
  path: at('posts.parquet'),
  checkpoint: at('checkpoint.json'),
  columns: ['id'] as const,
  commitIntervalMs: 0,
});
const nameOf = ({ path: file }: WrittenFile) => path.basename(file);

/**
 * Returns a function `run`, and the names of the files for which its runs have called `onFile`. The
 * call for the file that is named by `fails` throws.
 */
function runs(handing: Partial<FilesOptions<string>>, callOnFile: (file: WrittenFile) => unknown) {
  const called: string[] = [];
  const run = (fails?: string) =>
    pipeline(
      letters(),
      files({
        ...options(),
        ...handing,
        async onFile(file) {
          called.push(nameOf(file));
          if (nameOf(file) === fails) throw new Error('no network');
          return await callOnFile(file);
        },
      }),
    );
  return { called, run };
}

describe('the option `onFile` of a sink', () => {
  it('is called for finished files, with at most `onFileConcurrency` calls at a time', async () => {
    let [running, most] = [0, 0];
    const texts: string[] = [];
    await pipeline(
      letters(),
      files({
        ...options(),
        onFileConcurrency: 2,
        async onFile(file) {
          most = Math.max(most, ++running);
          texts.push(await readFile(file.path, 'utf8'));
          running--;
        },
      }),
    );
    expect(texts.toSorted()).toEqual(['"a1"\n"a2"\n', '"b1"\n', '"c1"\n', '"d1"\n']);
    expect(most).toBe(2);
  });

  it('returns a value that is stored with the file in the result and the checkpoint', async () => {
    const { run } = runs({}, async ({ path: file }) => ({ etag: await readFile(file, 'utf8') }));
    const written = await run();
    expect(written.files.map(({ handedOn }) => handedOn)).toEqual(
      ['"a1"\n"a2"\n', '"b1"\n', '"c1"\n', '"d1"\n'].map(etag => ({ etag })),
    );
    const { files: kept } = JSON.parse(await readFile(at('checkpoint.json'), 'utf8'));
    expect(kept[0]).toMatchObject({ handedOn: { etag: '"a1"\n"a2"\n' } });
    // After uploading a file, a user may delete it.
    for (const file of written.files) await rm(file.path);
    expect((await run()).files).toEqual(written.files);
  });

  it('is called only when a file has its final name, even if commits come earlier', async () => {
    const called: string[] = [];
    await pipeline(
      letters(),
      files({
        ...options(),
        commitIntervalMs: 0,
        onFile(file) {
          expect(existsSync(file.path)).toBe(true);
          called.push(nameOf(file));
        },
      }),
    );
    expect(called.toSorted()).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
  });

  it('is called in the next run only for files whose call was not recorded', async () => {
    const { called, run } = runs({ onFileConcurrency: 1 }, file => rm(file.path));
    await expect(run('c.txt')).rejects.toThrow('no network');
    expect(called).toEqual(['a.txt', 'b.txt', 'c.txt']);
    const { files: written } = await run();
    expect(called.slice(3)).toEqual(['c.txt', 'd.txt']);
    expect(written.map(({ handedOn }) => handedOn)).toEqual([null, null, null, null]);
    await run();
    expect(called.length).toBe(5);
  });

  it('does not end the run if it rejects, and is called again in the next run', async () => {
    const { called, run } = runs({ onFileError: 'keep' }, () => 'there');
    const first = await run('b.txt');
    expect(first.files.map(({ handedOn }) => handedOn)).toEqual([
      'there',
      undefined,
      'there',
      'there',
    ]);
    expect(called.length).toBe(4);
    const second = await run();
    expect(called.slice(4)).toEqual(['b.txt']);
    expect(second.files.map(({ handedOn }) => handedOn)).toEqual(Array(4).fill('there'));
    await run();
    expect(called.length).toBe(5);
  });

  it('is called once for each Parquet file while the run continues, even if the run fails later', async () => {
    const called: string[] = [];
    const run = (max: number) =>
      pipeline(
        pages(),
        parquet({
          ...parquetOptions(),
          async onFile(file) {
            if (called.length >= max) throw new Error('no network');
            const number = called.push(nameOf(file));
            await rm(file.path);
            return number;
          },
        }),
      );
    await expect(run(2)).rejects.toThrow('no network');
    expect(JSON.parse(await readFile(at('checkpoint.json'), 'utf8')).state).toBe('running');
    const { files: written } = await run(Number.POSITIVE_INFINITY);
    expect(new Set(called).size).toBe(called.length);
    expect(written.map(({ handedOn }) => handedOn)).toEqual(written.map((_, index) => index + 1));
    expect(written.length).toBeGreaterThan(3);
  });

  it('is called only once in a run for a Parquet file whose call fails, although more commits follow', async () => {
    const called: string[] = [];
    const { files: written } = await pipeline(
      pages(),
      parquet({
        ...parquetOptions(),
        onFileError: 'keep',
        onFile(file) {
          if (called.push(nameOf(file)) === 1) throw new Error('no network');
        },
      }),
    );
    expect(called).toEqual(written.map(nameOf));
    expect(written.length).toBeGreaterThan(3);
    expect(written.filter(({ handedOn }) => handedOn === undefined).map(nameOf)).toEqual([
      called[0],
    ]);
  });

  it.each(['txt', 'parquet'])(
    'is called again for a file if its failed call has deleted the file: %s',
    async kind => {
      const called: string[] = [];
      const onFile = async (file: WrittenFile) => {
        await rm(file.path, { force: true });
        if (called.push(nameOf(file)) === 2) throw new Error('no network');
        return 'gone';
      };
      const of = { checkpoint: at('checkpoint.json'), onFile, onFileConcurrency: 1 };
      const run = () =>
        kind === 'txt'
          ? pipeline(letters(), files({ ...options(), ...of }))
          : pipeline(
              pages(),
              parquet({ path: at('x.parquet'), columns: ['id'], commitIntervalMs: 0, ...of }),
            );
      await expect(run()).rejects.toThrow('no network');
      const { files: written } = await run();
      expect(called[2]).toBe(called[1]);
      expect(called.length).toBe(written.length + 1);
      expect(written.map(({ handedOn }) => handedOn)).toEqual(written.map(() => 'gone'));
    },
  );

  it('is called with the current size of a file that changed after its run', async () => {
    const run = (onFile?: (file: WrittenFile) => unknown) =>
      pipeline(letters(), files({ ...options(), onFile, onFileError: 'keep' }));
    await run(() => {
      throw new Error('no network');
    });
    await writeFile(at('a.txt'), 'short');
    const sizes: number[] = [];
    await run(({ bytes }) => void sizes.push(bytes));
    expect(sizes).toEqual([5, 5, 5, 5]);
  });

  it('is called for the files of each branch of tee, even without a checkpoint', async () => {
    const called: string[] = [];
    const branch = (name: string) =>
      files<Activity>({ path: at(name), onFile: file => void called.push(nameOf(file)) });
    await pipeline(
      pages(),
      tee(branch('a.jsonl'), branch('b.jsonl'), { checkpoint: at('tee.json') }),
    );
    await pipeline(pages(), branch('c.jsonl'));
    expect(called).toEqual(['a.jsonl', 'b.jsonl', 'c.jsonl']);
  });

  it('set in only one branch of tee does not make a later run reopen the source of a complete run', async () => {
    const called: string[] = [];
    const run = () =>
      pipeline(
        pages(),
        tee(
          files<Activity>({
            path: at('a.jsonl'),
            onFile: file => {
              called.push(nameOf(file));
              return 'kept';
            },
          }),
          files<Activity>({ path: at('b.jsonl') }),
          { checkpoint: at('tee.json') },
        ),
      );
    await run();
    const again = await run();
    expect(again.map(({ completeSince }) => completeSince)).toEqual([
      expect.any(Date),
      expect.any(Date),
    ]);
    expect(called).toEqual(['a.jsonl']);
  });

  it('rejects the run if its result is not JSON', async () => {
    const run = pipeline(letters(), files({ ...options(), onFile: () => 1n }));
    await expect(run).rejects.toThrow(/files: `onFile` must resolve to what JSON can hold/);
    await expect(run).rejects.toBeInstanceOf(OptionError);
  });

  it('does not delay an abort', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const run = pipeline(
      letters(),
      files({
        ...options(),
        onFileError: 'keep',
        onFile: () => {
          controller.abort(reason);
          return new Promise(() => {});
        },
      }),
      { signal: controller.signal },
    );
    await expect(run).rejects.toBe(reason);
    expect(existsSync(at('a.txt'))).toBe(true);
    expect(JSON.parse(await readFile(at('checkpoint.json'), 'utf8')).state).toBe('finishing');
  });
});
