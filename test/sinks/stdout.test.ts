import { once } from 'node:events';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DataError, StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Activity } from '../../src/post/activity.js';
import { stdout } from '../../src/sinks/stdout.js';
import { BASH_ARGS, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { nodeError } from '../storage/simulated-disk.js';
import { places } from './cursors.js';
import { post } from './posts.js';

const SCRIPT = `"${process.execPath}" "${compiled(path.join(import.meta.dirname, 'lines-to-stdout.ts'))}"`;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
  readonly result: { posts: number; bytes: number; files: unknown[]; closed: boolean };
}

/** Runs the script in a shell command. Returns the exit code of the script itself. */
async function shell(command: string, slow = false): Promise<Ended> {
  const child = spawn('bash', [...BASH_ARGS, `set -o pipefail; ${command}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  const closed = once(child, 'close');
  for await (const chunk of child.stdout) {
    out.push(chunk);
    if (slow && out.length % 8 === 0) await sleep(3);
  }
  const [code] = await closed;
  const result = code === 0 ? JSON.parse(errors) : {};
  return { code, out: Buffer.concat(out).toString(), errors, result };
}

function linesUpTo(count: number): string {
  return Array.from({ length: count }, (_, n) => `line ${n} ${'x'.repeat(n % 60)}\n`).join('');
}

function byHand(): { stream: Writable; taken: string[]; next(error?: Error): void } {
  const taken: string[] = [];
  let done: ((error?: Error | null) => void) | undefined;
  const stream = new Writable({
    write(chunk, _, callback) {
      taken.push(String(chunk));
      done = callback;
    },
  });
  return { stream, taken, next: error => done?.(error) };
}

describe('stdout() in a child process', () => {
  it('writes a post that spans several lines as one line', async () => {
    const printed = new Activity(Buffer.from(JSON.stringify(post({ id: '5' }).post, null, 2)));
    const stream = new PassThrough();
    await pipeline(places([[printed]]), stdout({ stream }));
    expect(String(stream.read()).split('\n')).toHaveLength(2);
  });

  it('exits normally with code 0 when head stops reading', async () => {
    const { code, out, result } = await shell(`${SCRIPT} 300000 | head -n 3`);
    expect(code).toBe(0);
    expect(out).toBe(linesUpTo(3));
    expect(result.closed).toBe(true);
    expect(result.files).toEqual([]);
    expect(result.posts).toBeLessThan(300_000);
  });

  it('closes an endless source when its reader stops', async () => {
    const { code, out, result } = await shell(`${SCRIPT} 10 wait | head -n 3`);
    expect(code).toBe(0);
    expect(out).toBe(linesUpTo(3));
    expect(result.closed).toBe(true);
  });

  it.each([
    ['a socket', ''],
    ['a pipe', ' | (sleep 0.3; cat)'],
  ])('loses no output with a slow reader of %s, even before process.exit', async (_, reader) => {
    const { code, out, result } = await shell(`${SCRIPT} 250000 exit${reader}`, true);
    expect(code).toBe(0);
    expect(out).toBe(linesUpTo(250_000));
    expect(result).toMatchObject({ posts: 250_000, bytes: linesUpTo(250_000).length });
  });

  it('leaves stdout open for later output of the script', async () => {
    const { code, out } = await shell(`${SCRIPT} 250000`, true);
    expect(code).toBe(0);
    expect(out).toBe(`${linesUpTo(250_000)}a word after the end\n`);
  });

  it('rejects if it writes to a full disk', async () => {
    const { code, errors } = await shell(`${SCRIPT} 10 > /dev/full`);
    expect(code).toBe(1);
    expect(errors).toMatch(/StorageError.*Could not write to stdout: ENOSPC/);
  });
});

describe('stdout() with the option `stream`', () => {
  it.each<[string, (activity: Activity) => unknown, (activity: Activity) => string]>([
    ['an activity byte for byte', activity => activity, ({ raw }) => `${raw}`],
    [
      'a tagged activity byte for byte',
      activity => ({ tag: 'snow', activity }),
      ({ raw }) => `${raw}`,
    ],
    ['bytes as they are', () => Buffer.from('raw'), () => 'raw'],
    ['values as JSON', () => ({ a: 'é' }), () => '{"a":"é"}'],
    ['null as JSON', () => null, () => 'null'],
  ])('writes %s', async (_, itemOf, lineOf) => {
    const stream = new PassThrough();
    const activity = post({ id: '9007199254740993' });
    await pipeline(places<unknown>([[itemOf(activity)]]), stdout({ stream }));
    expect(stream.read().toString()).toBe(`${lineOf(activity)}\n`);
  });

  it('writes the items of all batches, and counts the items and their bytes', async () => {
    const stream = new PassThrough();
    const batches = [[Buffer.from('raw'), { a: 'é' }], [], [null]];
    const written = await pipeline(places<unknown>(batches), stdout({ stream }));
    const expected = 'raw\n{"a":"é"}\nnull\n';
    expect(stream.read().toString()).toBe(expected);
    expect(written).toEqual({ posts: 3, bytes: Buffer.byteLength(expected), files: [] });
  });

  it('leaves the stream open, and removes its listeners', async () => {
    const stream = new PassThrough();
    await pipeline(places<unknown>([[null]]), stdout({ stream }));
    expect(stream.writableEnded).toBe(false);
    expect(stream.listenerCount('error')).toBe(0);
  });

  it('fails for values that JSON cannot represent', async () => {
    const run = pipeline(places([[1n]]), stdout({ stream: new PassThrough() }));
    await expect(run).rejects.toThrow(DataError);
  });

  it('reads at most one batch more than a slow reader has accepted', async () => {
    const { stream, taken, next } = byHand();
    let pulled = 0;
    const source = new Flow<number>(async function* () {
      for (let n = 0; n < 5; n++) {
        pulled++;
        yield { items: [n] };
      }
    });
    const run = pipeline(source, stdout({ stream }));
    await sleep(10);
    expect([pulled, taken]).toEqual([2, ['0\n']]);
    next();
    await sleep(10);
    expect([pulled, taken]).toEqual([3, ['0\n', '1\n']]);
    for (let n = 0; n < 4; n++) {
      await sleep(5);
      next();
    }
    expect((await run).posts).toBe(5);
  });

  it('waits until the last line is written', async () => {
    const { stream, next } = byHand();
    let over = false;
    const run = pipeline(places([[1]]), stdout({ stream })).then(() => {
      over = true;
    });
    await sleep(20);
    expect(over).toBe(false);
    next();
    await run;
  });

  it('writes a large batch in chunks', async () => {
    const sizes: number[] = [];
    const stream = new Writable({
      write(chunk, _, callback) {
        sizes.push(chunk.length);
        callback();
      },
    });
    await pipeline(
      places([Array.from({ length: 100 }, () => Buffer.alloc(9_999))]),
      stdout({ stream }),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1_000_000);
    expect(Math.max(...sizes)).toBeLessThan(300_000);
  });

  it('resolves on a closed pipe, even while its source waits', async () => {
    const { stream, next } = byHand();
    let closed = false;
    const source = new Flow<number>(async function* ({ signal }) {
      try {
        yield { items: [1, 2] };
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      } finally {
        closed = true;
      }
    });
    const run = pipeline(source, stdout({ stream }));
    await sleep(5);
    next(nodeError('EPIPE', 'write'));
    expect(await run).toEqual({ posts: 0, bytes: 0, files: [] });
    expect(closed).toBe(true);
  });

  it('rejects if the stream fails for another reason than a closed pipe', async () => {
    const { stream, next } = byHand();
    const run = pipeline(places([[1], [2]]), stdout({ stream }));
    const failed = expect(run).rejects.toThrow(StorageError);
    await sleep(5);
    next(nodeError('EIO', 'write'));
    await failed;
    await expect(run).rejects.toThrow(/Could not write to stdout: EIO/);
  });

  it('stops waiting for its reader when the run is aborted', async () => {
    const { stream } = byHand();
    const reason = new Error('enough');
    const controller = new AbortController();
    const run = pipeline(places([[1], [2], [3]]), stdout({ stream }), {
      signal: controller.signal,
    });
    const aborted = expect(run).rejects.toBe(reason);
    await sleep(5);
    controller.abort(reason);
    await aborted;
  });
});
