import { once } from 'node:events';
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type FilesOptions, files, filesOn } from '../../src/sinks/files.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { nodeError, SimulatedDisk } from '../storage/simulated-disk.js';
import { isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

function numbers(first: number, count: number, gate?: Promise<unknown>): Flow<number> {
  return new Flow(async function* () {
    for (let n = 0; n < count; n++) {
      yield { items: [first + n], cursor: { n } };
      if (n === 0) await gate;
    }
  });
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { opened, open };
}

describe('two runs with the same output files', () => {
  it('are detected even without a checkpoint, and the second run rejects', async () => {
    const out = await temporaryFolder();
    const options: FilesOptions<number> = { path: `${out}/posts.jsonl` };
    const { opened, open } = gate();
    const first = pipeline(numbers(0, 3000, opened), files(options));
    await expect
      .poll(() => readdir(out).then(names => names.includes('posts.jsonl.part')))
      .toBe(true);
    await expect(pipeline(numbers(5000, 3), files(options))).rejects.toThrow(/Another run writes/);
    open();
    expect((await first).posts).toBe(3000);
    const lines = (await readFile(`${out}/posts.jsonl`, 'utf8')).trimEnd().split('\n');
    expect(lines).toEqual(Array.from({ length: 3000 }, (_, n) => String(n)));
    expect(await readdir(out)).toEqual(['posts.jsonl']);
  });

  it('do not both succeed if functions return their paths', async () => {
    const out = await temporaryFolder();
    const options: FilesOptions<number> = { path: () => `${out}/posts.jsonl` };
    const { opened, open } = gate();
    const first = pipeline(numbers(0, 3000, opened), files(options));
    await expect
      .poll(() => readdir(out).then(names => names.includes('posts.jsonl.part')))
      .toBe(true);
    const second = pipeline(numbers(5000, 3000), files(options));
    await second;
    open();
    await expect(first).rejects.toThrow(StorageError);
    const lines = (await readFile(`${out}/posts.jsonl`, 'utf8')).trimEnd().split('\n');
    expect(lines).toEqual(Array.from({ length: 3000 }, (_, n) => String(5000 + n)));
  });
});

describe('the files sink', () => {
  it.each(['posts.jsonl.part', 'posts.jsonl', 'run.json', 'run.json.tmp'])(
    'neither follows nor replaces a symbolic link under %s',
    async name => {
      const out = await temporaryFolder();
      await writeFile(`${out}/victim`, 'precious');
      await symlink(`${out}/victim`, `${out}/${name}`);
      const options = {
        path: `${out}/posts.jsonl`,
        checkpoint: `${out}/run.json`,
        commitIntervalMs: 0,
      };
      await expect(pipeline(numbers(0, 3), files(options))).rejects.toThrow(StorageError);
      expect(await readFile(`${out}/victim`, 'utf8')).toBe('precious');
      expect(await readlink(`${out}/${name}`)).toBe(`${out}/victim`);
    },
  );

  it('rejects a checkpoint that is a symbolic link', async () => {
    const out = await temporaryFolder();
    const options = { path: `${out}/posts.jsonl`, checkpoint: `${out}/run.json` };
    await pipeline(numbers(0, 3), files(options));
    await rename(`${out}/run.json`, `${out}/elsewhere.json`);
    await symlink(`${out}/elsewhere.json`, `${out}/run.json`);
    await expect(pipeline(numbers(0, 3), files(options))).rejects.toThrow(
      /run\.json is not a regular file: a symbolic link/,
    );
  });

  it('does not replace a symbolic link created under an output name during the run', async () => {
    const out = await temporaryFolder();
    await writeFile(`${out}/victim`, 'precious');
    const { opened, open } = gate();
    const run = pipeline(numbers(0, 3, opened), files({ path: `${out}/posts.jsonl` }));
    await expect
      .poll(() => readdir(out).then(names => names.includes('posts.jsonl.part')))
      .toBe(true);
    await symlink(`${out}/victim`, `${out}/posts.jsonl`);
    open();
    await expect(run).rejects.toThrow('is not a regular file: a symbolic link');
    expect(await readFile(`${out}/victim`, 'utf8')).toBe('precious');
    expect(await readlink(`${out}/posts.jsonl`)).toBe(`${out}/victim`);
  });

  it('does not change a pipe that has the name of an output', async () => {
    const out = await temporaryFolder();
    const [code] = await once(spawn('mkfifo', [`${out}/posts.jsonl`]), 'close');
    expect(code).toBe(0);
    await expect(pipeline(numbers(0, 3), files({ path: `${out}/posts.jsonl` }))).rejects.toThrow(
      'is not a regular file',
    );
    expect((await lstat(`${out}/posts.jsonl`)).isFIFO()).toBe(true);
  });

  it('writes into a folder that is a symbolic link', async () => {
    const out = await temporaryFolder();
    await mkdir(`${out}/real`);
    await symlink(`${out}/real`, `${out}/link`);
    await pipeline(numbers(0, 1), files({ path: `${out}/link/posts.jsonl` }));
    expect(await readFile(`${out}/real/posts.jsonl`, 'utf8')).toBe('0\n');
  });
});

describe('a file name that files() reserves for itself', () => {
  it('is changed if the path of an item has this name, and the run continues', async () => {
    const out = await temporaryFolder();
    const names = ['run.json', 'run.json.tmp', 'run.json.lock', 'run.json.lock.old', 'a', 'a.part'];
    const items = new Flow<string>(async function* () {
      yield { items: names, cursor: {} };
    });
    const result = await pipeline(
      items,
      files({ path: name => `${out}/${name}`, checkpoint: `${out}/run.json` }),
    );
    expect(result.posts).toBe(names.length);
    const written = await Promise.all(
      result.files.map(async file => JSON.parse(await readFile(file.path, 'utf8'))),
    );
    expect(written).toEqual(names);
    expect(result.files.map(file => path.basename(file.path))).toEqual([
      ...['run%=.json', 'run.json%=.tmp', 'run.json%=.lock', 'run.json.lock%=.old'],
      ...['a', 'a.part%='],
    ]);
  });

  it('causes an error before anything is opened if `path` itself has this name', () => {
    for (const file of ['run.json', './run.json', 'run.json.lock'])
      expect(() => files({ path: file, checkpoint: 'run.json' })).toThrow(OptionError);
  });
});

describe('a full disk', () => {
  it('ends the run with an error that mentions the checkpoint only if the run has one', async () => {
    const failing = async (from: number) => {
      const disk = new SimulatedDisk();
      let checkpoints = 0;
      disk.before = (call, file) => {
        if (call === 'rename' && file.endsWith('run.json.tmp')) checkpoints++;
        if (call === 'write' && file.endsWith('.part') && checkpoints >= from)
          throw nodeError('ENOSPC', call);
      };
      const options = { path: '/out/a.jsonl', checkpoint: '/out/run.json', commitIntervalMs: 0 };
      return pipeline(numbers(0, 5), filesOn(disk, options)).then(
        () => 'no error',
        (error: Error) => error.message,
      );
    };
    expect(await failing(0)).toMatch(/make room, then run the same again\.$/);
    expect(await failing(1)).toMatch(/again: it continues from the checkpoint\.$/);
  });
});

describe('a run with too many output files', () => {
  it('ends with an error', async () => {
    const out = await temporaryFolder();
    const options: FilesOptions<number> = { path: n => `${out}/${n}`, maxOutputs: 3 };
    expect((await pipeline(numbers(0, 3), files(options))).files).toHaveLength(3);
    await expect(pipeline(numbers(0, 4), files(options))).rejects.toThrow(
      /^Cannot begin .*\/3: the run has 3 files.*maxOutputs/,
    );
  });

  it.runIf(isNightly).each([32, 64])(
    'ends with an error instead of a crash in a heap of %i MiB',
    async mebibytes => {
      const out = await temporaryFolder();
      const script = compiled(path.join(import.meta.dirname, 'many-outputs-child.ts'));
      const child = spawn(process.execPath, [`--max-old-space-size=${mebibytes}`, script, out], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const { stdout } = await outputOf(child);
      expect(stdout).toBe('failed: ERR_STORAGE');
    },
  );
});

describe('the deletion of the working folder', () => {
  async function runThatDeletes(option: 'before' | 'during', cwd: string): Promise<string> {
    await mkdir(cwd);
    const script = compiled(path.join(import.meta.dirname, 'delete-working-folder.ts'));
    const child = spawn(process.execPath, [script, option], {
      cwd,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const hang = setTimeout(() => child.kill('SIGKILL'), 60_000);
    const { stdout } = await outputOf(child);
    clearTimeout(hang);
    return stdout;
  }

  it('before the run does not affect files()', async () => {
    const cwd = `${await temporaryFolder()}/work`;
    expect(await runThatDeletes('before', cwd)).toBe('done');
    expect(await readFile(`${cwd}/out/deep/1.jsonl`, 'utf8')).toBe('{"n":1}\n');
    expect(await readFile(`${cwd}/out/deep/2.jsonl`, 'utf8')).toBe('{"n":2}\n');
  });

  it('during the run ends files() with a StorageError', async () => {
    const cwd = `${await temporaryFolder()}/work`;
    expect(await runThatDeletes('during', cwd)).toBe('failed: ERR_STORAGE');
  });
});

describe('the deletion of the output folder during a run', () => {
  const small = [0, 1, 2];
  const large = Array.from({ length: 3 }, (_, n) => `${n}`.repeat(2_000_000));

  it.each([
    ['a small', '', small],
    ['a large', '', large],
    ['a small', ' with a checkpoint', small],
    ['a large', ' with a checkpoint', large],
  ])('ends %s run%s with an error that names the reason', async (_, commits, items) => {
    const folder = await temporaryFolder();
    const out = path.join(folder, 'out');
    await mkdir(out);
    const source = new Flow<unknown>(async function* () {
      for (const [n, item] of items.entries()) {
        // The folder is renamed, so that all of it disappears at the same moment. While `rm`
        // deletes a folder, a run could find it without its part file.
        if (n === 1) await rename(out, `${out}.removed`);
        yield { items: [item], cursor: { source: 'numbers', n } };
      }
    });
    const checkpoint = commits === '' ? undefined : path.join(folder, 'run.json');
    const run = pipeline(source, files({ path: path.join(out, 'posts.jsonl'), checkpoint }));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(`the folder ${out} was removed during the run`);
    await expect(readdir(out)).rejects.toThrow('ENOENT');
  });
});
