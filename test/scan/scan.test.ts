import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { StorageError } from '../../src/errors.js';
import { Scan } from '../../src/scan/scan.js';
import { compiled } from '../compiled.js';
import { root } from '../pages.js';
import { temporaryFolders } from '../sinks/temporary-folder.js';

const newFolder = temporaryFolders();
const LIMITS = { maxBytes: 1e6, maxDepth: 100 };

/** Threads with another script. */
function scanWith(code: string, workers: number): Scan {
  const script = `import { parentPort, workerData } from 'node:worker_threads';\n${code}`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
  return Scan.open({ workers, script: url })!.framing(LIMITS)!;
}

const task = (file: string) => ({ file, origin: file });

describe('the threads of a scan', () => {
  it('refuse all files where they end, and the process goes on', async () => {
    const scan = scanWith('process.exit(3)', 2);
    const files = await Promise.all(Array.from({ length: 9 }, (_, i) => scan.scan(task(`${i}`))));
    expect(files).toEqual(Array.from({ length: 9 }, () => undefined));
    await scan.close();
  });

  it('refuse all files where they fail to start', async () => {
    const scan = scanWith('throw new Error("broken")', 1);
    expect(await scan.scan(task('a'))).toBeUndefined();
    await scan.close();
  });

  it('that end while they hold posts give a typed error', async () => {
    const scan = scanWith(
      `parentPort.on('message', ({ kind, file }) => {
        if (kind !== 'scan') process.exit(1);
        const data = { count: 0, numbers: new Uint32Array(0), otherIds: new Map(), tagSets: [], keySets: [] };
        parentPort.postMessage({ kind: 'scanned', file, data, messages: [], bytes: 5 });
      })`,
      1,
    );
    const held = await scan.scan(task('a.gz'));
    const writing = held!.write(new Uint32Array(1), []);
    await expect(writing).rejects.toThrow(StorageError);
    await expect(writing).rejects.toThrow(/a\.gz.*ended with code 1.*Run again/);
    held!.release();
    await scan.close();
  });

  it('give the bytes of a file back unless they end', async () => {
    const gzip = gzipSync('{"id":1}\n');
    const damaged = gzip.subarray(0, gzip.length / 2);
    const scan = Scan.open({ workers: 1 })!
      .framing(LIMITS)!
      .inflating({ plain: 'refuse', maxBytes: 1e6 })!;
    for (const [content, isScanned] of [
      [gzip, true],
      [damaged, false],
    ] as const) {
      const bytes = Buffer.allocUnsafeSlow(content.length);
      content.copy(bytes);
      const file = { bytes };
      const held = await scan.scan({ file, origin: 'a' });
      expect(held !== undefined).toBe(isScanned);
      expect(bytes).toHaveLength(0);
      expect(file.bytes).toEqual(Buffer.from(content));
      held?.release();
    }
    await scan.close();
    const ending = scanWith('process.exit(3)', 1);
    const file = { bytes: Buffer.allocUnsafeSlow(5) };
    expect(await ending.scan({ file, origin: 'a' })).toBeUndefined();
    expect(file.bytes).toHaveLength(0);
    await ending.close();
  });

  it('take files in their order, and no more at a time than they may hold', async () => {
    const folder = await newFolder();
    const paths = Array.from({ length: 9 }, (_, index) => path.join(folder, `${index}.jsonl`));
    for (const [index, file] of paths.entries())
      await writeFile(file, `{"id":${index + 1},"id_str":"${index + 1}"}\n`);
    const scan = Scan.open({ workers: 2 })!.with({ id: true }).framing(LIMITS)!;
    const done: number[] = [];
    const held = paths.map(async (file, index) => {
      const found = await scan.scan(task(file));
      done.push(index);
      return found!;
    });
    await Promise.all(held.slice(0, 4));
    expect(done.toSorted()).toEqual([0, 1, 2, 3]);
    for (const one of held) {
      const file = await one;
      expect(file.columns.count).toBe(1);
      expect((await file.content()).toString()).toMatch(/^{"id":\d,"id_str":"\d"}\n$/);
      file.release();
    }
    expect(done).toHaveLength(9);
    await scan.close();
  });

  it('finish the file that they work on when they are closed, as terminating one can abort the process', async () => {
    const finished = path.join(await newFolder(), 'finished');
    const script = `
      import { writeFileSync } from 'node:fs';
      parentPort.on('message', ({ kind }) => {
        if (kind === 'end') process.exit();
        for (const end = Date.now() + 300; Date.now() < end; );
        writeFileSync(${JSON.stringify(finished)}, '');
      });`;
    const scan = scanWith(script, 1);
    const file = scan.scan(task('a'));
    await new Promise(resolve => setTimeout(resolve, 50));
    await scan.close();
    expect(existsSync(finished)).toBe(true);
    expect(await file).toBeUndefined();
  });

  it('are terminated when they are closed and do not end', async () => {
    const scan = scanWith("parentPort.on('message', () => { while (true); })", 2);
    const files = [scan.scan(task('a')), scan.scan(task('b')), scan.scan(task('c'))];
    await new Promise(resolve => setTimeout(resolve, 50));
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const closed = scan.close();
    await vi.advanceTimersByTimeAsync(60_000);
    await closed;
    expect(await Promise.all(files)).toEqual([undefined, undefined, undefined]);
  });

  it('keep the process alive until they have ended, also where a reply comes while they end', async () => {
    const folder = await newFolder();
    const replied = path.join(folder, 'replied');
    // The reply waits for the main thread when that ends the worker, which cannot end at once.
    const worker = `
      import { execFileSync } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ kind, file }) => {
        if (kind === 'end') process.exit();
        parentPort.postMessage({ kind: 'refused', file });
        writeFileSync(${JSON.stringify(replied)}, '');
        execFileSync(process.execPath, ['-e', 'setTimeout(() => {}, 300)']);
      });`;
    const library = pathToFileURL(compiled(path.join(root, 'src/scan/scan.ts'))).href;
    const main = `
      import { existsSync } from 'node:fs';
      import { Scan } from ${JSON.stringify(library)};
      const script = new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(worker)}`)});
      const scan = Scan.open({ workers: 1, script }).framing({});
      scan.scan({ file: 'a', origin: 'a' });
      while (!existsSync(${JSON.stringify(replied)}));
      await scan.close();
      console.log('closed');`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      main,
    ]);
    expect(stdout).toBe('closed\n');
  });

  it('end after the last of the files that were announced, and start again for others', async () => {
    const started = { threads: 0, ended: 0 };
    const count = (worker: Worker) => {
      started.threads++;
      worker.on('exit', () => started.ended++);
    };
    process.on('worker', count);
    onTestFinished(() => {
      process.off('worker', count);
    });
    const folder = await newFolder();
    const scan = Scan.open({ workers: 2 })!.framing(LIMITS)!;
    scan.start(3);
    const scanned = async (name: string) => {
      const file = path.join(folder, name);
      await writeFile(file, '{"id":1}\n');
      (await scan.scan(task(file)))?.release();
    };
    await Promise.all(['a', 'b'].map(scanned));
    expect(started).toEqual({ threads: 2, ended: 0 });
    await scanned('c');
    await expect.poll(() => started).toEqual({ threads: 2, ended: 2 });
    await scanned('d');
    expect(started.threads).toBe(3);
    await scan.close();
    expect(started.ended).toBe(3);
  });

  it('are none where the limit is 0', () => {
    expect(Scan.open({ workers: 0 })).toBeUndefined();
  });
});
