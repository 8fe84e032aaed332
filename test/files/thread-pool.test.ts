import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DataError, StorageError } from '../../src/base/errors.js';
import type { EncoderKind, RowEncoding } from '../../src/files/encode-rows.js';
import type { StoredFile } from '../../src/files/file-source.js';
import type { Decoding } from '../../src/files/plan.js';
import { scriptOfThreads, Threads } from '../../src/files/thread-pool.js';
import { POSTS } from '../../src/operators/activities.js';
import { IDS } from '../../src/operators/dedupe.js';
import { ENCODE_CHUNKS } from '../../src/tables/parquet/column-chunk.js';
import { PARQUET_ROWS } from '../../src/tables/parquet/parquet-rows.js';
import { RowBlockBuilder } from '../../src/tables/parquet/row-block.js';
import { compiled } from '../compiled.js';
import { root } from '../pages.js';
import { temporaryFolder } from '../temporary-folder.js';

const DECODING = { limits: { maxBytes: 1e6, maxDepth: 100 }, records: POSTS };

function threadsOf(size: number, options: { script?: URL; decoding?: Decoding } = {}): Threads {
  const script = options.script ?? scriptOfThreads()!;
  const { decoding = DECODING } = options;
  return new Threads(script, size, { decoding, columns: [IDS], encodings: [] });
}

function threadsWith(code: string, size: number): Threads {
  const script = `import { parentPort, workerData } from 'node:worker_threads';\n${code}`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
  return threadsOf(size, { script: url });
}

const task = (path: string): StoredFile => ({
  file: { path, size: 0, read: () => readFile(path) },
  origin: path,
});

describe('the thread pool', () => {
  it('decodes no more files after its threads have exited', async () => {
    const threads = threadsWith('process.exit(3)', 2);
    const files = await Promise.all(
      Array.from({ length: 9 }, (_, i) => threads.decode(task(`${i}`))),
    );
    expect(files).toEqual(Array.from({ length: 9 }, () => undefined));
    await threads.close();
  });

  it('decodes no files if its threads fail to start', async () => {
    const threads = threadsWith('throw new Error("broken")', 1);
    expect(await threads.decode(task('a'))).toBeUndefined();
    await threads.close();
  });

  it('fails with StorageError if a thread exits while it holds posts', async () => {
    const threads = threadsWith(
      `parentPort.on('message', ({ name }) => {
        if (name !== 'decode') process.exit(1);
        const bounds = { starts: new Uint32Array(0), lengths: new Uint32Array(0) };
        parentPort.postMessage({ decoded: { bounds, columns: [], messages: [], bytes: 5 } });
      })`,
      1,
    );
    const held = await threads.decode(task('a.gz'));
    const writing = held!.write(new Uint32Array(1), []);
    await expect(writing).rejects.toThrow(StorageError);
    await expect(writing).rejects.toThrow(/a\.gz.*ended with code 1.*Run it again/);
    held!.release();
    await threads.close();
  });

  it('fails with StorageError if a thread exits while it encodes a row group', async () => {
    const threads = threadsWith(
      `parentPort.on('message', ({ name }) => {
        if (name === 'run') process.exit(1);
      })`,
      1,
    );
    threads.start(1);
    const encode = () =>
      threads.run(
        ENCODE_CHUNKS,
        { types: ['string'], parts: [new Uint8Array(8)], compression: 'snappy' },
        'out.parquet',
      );
    const encoding = encode();
    await expect(encoding).rejects.toThrow(StorageError);
    await expect(encoding).rejects.toThrow(/out\.parquet.*ended with code 1.*Run it again/);
    // No thread is left, so the rows are encoded on the main thread.
    expect(encode()).toBeUndefined();
    await threads.close();
  });

  it('ends its threads after the last file unless they are encoding row groups', async () => {
    const file = path.join(await temporaryFolder(), 'a.jsonl');
    await writeFile(file, '{"id":1,"id_str":"1"}\n');
    const columns = {
      types: ['string'],
      parts: [],
      compression: 'snappy',
    } as const;
    const lines: RowEncoding = {};
    const parquet: RowEncoding = {
      kind: PARQUET_ROWS as EncoderKind,
      options: { columns: ['id'], invalidValues: 'error' },
    };
    for (const [encodings, isLeft] of [
      [[], false],
      [[lines, undefined], false],
      [[lines, parquet], true],
    ] as const) {
      const start = { decoding: DECODING, columns: [IDS], encodings };
      const threads = new Threads(scriptOfThreads()!, 1, start);
      threads.start(1);
      (await threads.decode(task(file)))!.release();
      const encoding = threads.run(ENCODE_CHUNKS, columns, 'out.parquet');
      expect(encoding !== undefined).toBe(isLeft);
      if (encoding !== undefined) expect(await encoding).toHaveLength(1);
      await threads.close();
    }
  });

  it('continues after a thread runs out of memory for a row group', async () => {
    const threads = threadsWith(
      `const { grow } = WebAssembly.Memory.prototype;
      let isFirst = true;
      WebAssembly.Memory.prototype.grow = function (pages) {
        if (!isFirst) return grow.call(this, pages);
        isFirst = false;
        throw new RangeError('Maximum memory size exceeded');
      };
      await import(${JSON.stringify(scriptOfThreads()!.href)});`,
      1,
    );
    threads.start(1);
    const encode = () => {
      const builder = new RowBlockBuilder(['string']);
      builder.add(['text']);
      const parts = builder.take().parts.slice(0, 1);
      return threads.run(ENCODE_CHUNKS, { types: ['string'], parts, compression: 'snappy' }, 'a');
    };
    const encoding = encode();
    await expect(encoding).rejects.toThrow(DataError);
    await expect(encoding).rejects.toThrow(/smaller `rowGroup`$/);
    expect(await encode()).toMatchObject([{ values: 1 }]);
    await threads.close();
  });

  it('returns the bytes of a file to the caller unless the thread has exited', async () => {
    const gzip = gzipSync('{"id":1}\n');
    const damaged = gzip.subarray(0, gzip.length / 2);
    const threads = threadsOf(1, {
      decoding: { ...DECODING, gunzip: { plain: 'refuse', maxBytes: 1e6 } },
    });
    for (const [content, isDecoded] of [
      [gzip, true],
      [damaged, false],
    ] as const) {
      const bytes = Buffer.allocUnsafeSlow(content.length);
      content.copy(bytes);
      const file = { bytes };
      const held = await threads.decode({ file, origin: 'a' });
      expect(held !== undefined).toBe(isDecoded);
      expect(bytes).toHaveLength(0);
      expect(file.bytes).toEqual(Buffer.from(content));
      held?.release();
    }
    await threads.close();
    const ending = threadsWith('process.exit(3)', 1);
    const file = { bytes: Buffer.allocUnsafeSlow(5) };
    expect(await ending.decode({ file, origin: 'a' })).toBeUndefined();
    expect(file.bytes).toHaveLength(0);
    await ending.close();
  });

  it('decodes files in order, and no more at a time than its threads may hold', async () => {
    const folder = await temporaryFolder();
    const paths = Array.from({ length: 9 }, (_, index) => path.join(folder, `${index}.jsonl`));
    for (const [index, file] of paths.entries())
      await writeFile(file, `{"id":${index + 1},"id_str":"${index + 1}"}\n`);
    const threads = threadsOf(2);
    const done: number[] = [];
    const held = paths.map(async (file, index) => {
      const found = await threads.decode(task(file));
      done.push(index);
      return found!;
    });
    await Promise.all(held.slice(0, 4));
    expect(done.toSorted()).toEqual([0, 1, 2, 3]);
    for (const one of held) {
      const file = await one;
      expect(file.rows.count).toBe(1);
      expect((await file.content()).toString()).toMatch(/^{"id":\d,"id_str":"\d"}\n$/);
      file.release();
    }
    expect(done).toHaveLength(9);
    await threads.close();
  });

  it('writes the rest of the lines if the system writes only a part of them', async () => {
    const folder = await temporaryFolder();
    const input = path.join(folder, 'in.jsonl');
    const lines = [1, 2, 3].map(id => `{"id":${id},"id_str":"${id}"}\n`);
    await writeFile(input, lines.join(''));
    const wanted = `${lines[0]}${lines[2]}`;
    const worker = JSON.stringify(fileURLToPath(scriptOfThreads()!));
    // Simulates partial writes. Each call writes one byte more than the call before it.
    const threads = threadsWith(
      `import fs from 'node:fs';
      import { createRequire } from 'node:module';
      let bytes = 0;
      fs.writevSync = (fd, lines, position) =>
        fs.writeSync(fd, Buffer.concat(lines), 0, bytes++, position);
      createRequire(${worker})(${worker});`,
      1,
    );
    const file = (await threads.decode(task(input)))!;
    for (let bytes = 0; bytes <= wanted.length; bytes++) {
      const out = await open(path.join(folder, `${bytes}.jsonl`), 'w+');
      const range = { fd: out.fd, position: 0, from: 0, to: 2 };
      expect(await file.write(Uint32Array.of(0, 2), [range])).toBeUndefined();
      expect(await out.readFile('utf8')).toBe(wanted);
      await out.close();
    }
    file.release();
    await threads.close();
  });

  it('lets its threads finish their files on close, because terminating a thread can abort the process', async () => {
    const finished = path.join(await temporaryFolder(), 'finished');
    const script = `
      import { writeFileSync } from 'node:fs';
      parentPort.on('message', ({ name }) => {
        if (name === 'end') process.exit();
        for (const end = Date.now() + 300; Date.now() < end; );
        writeFileSync(${JSON.stringify(finished)}, '');
      });`;
    const threads = threadsWith(script, 1);
    const file = threads.decode(task('a'));
    await new Promise(resolve => setTimeout(resolve, 50));
    await threads.close();
    expect(existsSync(finished)).toBe(true);
    expect(await file).toBeUndefined();
  });

  it('terminates threads that do not end on close', async () => {
    const threads = threadsWith("parentPort.on('message', () => { while (true); })", 2);
    const files = [threads.decode(task('a')), threads.decode(task('b')), threads.decode(task('c'))];
    await new Promise(resolve => setTimeout(resolve, 50));
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const closed = threads.close();
    await vi.advanceTimersByTimeAsync(60_000);
    await closed;
    expect(await Promise.all(files)).toEqual([undefined, undefined, undefined]);
  });

  it('keeps the process alive until its threads have ended', async () => {
    const folder = await temporaryFolder();
    const replied = path.join(folder, 'replied');
    // When the main thread ends this worker, the reply of the worker has arrived but has not been
    // read. The worker is in a blocking call, so it cannot end immediately.
    const worker = `
      import { execFileSync } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ name }) => {
        if (name === 'end') process.exit();
        parentPort.postMessage({});
        writeFileSync(${JSON.stringify(replied)}, '');
        execFileSync(process.execPath, ['-e', 'setTimeout(() => {}, 300)']);
      });`;
    const library = pathToFileURL(compiled(path.join(root, 'src/files/thread-pool.ts'))).href;
    const main = `
      import { existsSync } from 'node:fs';
      import { Threads } from ${JSON.stringify(library)};
      const script = new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(worker)}`)});
      const threads = new Threads(script, 1, { decoding: { records: {} }, columns: [], encodings: [] });
      threads.decode({ file: { path: 'a' }, origin: 'a' });
      while (!existsSync(${JSON.stringify(replied)}));
      await threads.close();
      console.log('closed');`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      main,
    ]);
    expect(stdout).toBe('closed\n');
  });

  it('ends its threads after the last announced file, and restarts them for more files', async () => {
    const started = { threads: 0, ended: 0 };
    const count = (worker: Worker) => {
      started.threads++;
      worker.on('exit', () => started.ended++);
    };
    process.on('worker', count);
    onTestFinished(() => {
      process.off('worker', count);
    });
    const folder = await temporaryFolder();
    const threads = threadsOf(2);
    threads.start(3);
    const decode = async (name: string) => {
      const file = path.join(folder, name);
      await writeFile(file, '{"id":1}\n');
      (await threads.decode(task(file)))?.release();
    };
    await Promise.all(['a', 'b'].map(decode));
    expect(started).toEqual({ threads: 2, ended: 0 });
    await decode('c');
    await expect.poll(() => started).toEqual({ threads: 2, ended: 2 });
    await decode('d');
    expect(started.threads).toBe(3);
    await threads.close();
    expect(started.ended).toBe(3);
  });
});
