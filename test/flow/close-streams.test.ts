import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { PassThrough, Readable, Writable, type WritableOptions } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Minipass } from 'minipass';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow, type Operator } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { Source } from '../../src/flow/stage.js';
import { activities } from '../../src/operators/activities.js';
import { compose } from '../../src/operators/compose.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { collect } from '../../src/sinks/collect.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { merge } from '../../src/sources/merge.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

let folder: string;
let server: Server;
/** The unhandled rejections and uncaught errors. In a program, they would end the process. */
let unhandled: unknown[];
const onUnhandled = (error: unknown) => unhandled.push(error);

beforeEach(async () => {
  folder = await temporaryFolder();
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
  process.on('uncaughtException', onUnhandled);
  server = createServer((_request, response) => void response.write('first\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  // The events of streams and the reports of rejections arrive in later turns of the event loop.
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  process.off('unhandledRejection', onUnhandled);
  process.off('uncaughtException', onUnhandled);
  expect(unhandled).toEqual([]);
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(2);
}

interface Opened {
  readonly source: Source<unknown>;
  isClosed(): boolean | Promise<boolean>;
}

const SOURCES: Readonly<Record<string, () => Opened | Promise<Opened>>> = {
  'a Readable': () => {
    const source = new Readable({ read() {} });
    source.push('first\n');
    return { source, isClosed: () => source.destroyed };
  },
  'a Readable of objects': () => {
    const source = new Readable({ objectMode: true, read() {} });
    source.push({ first: true });
    return { source, isClosed: () => source.destroyed };
  },
  'a file that is read': async () => {
    const file = path.join(folder, 'input');
    await writeFile(file, 'first\n'.repeat(100_000));
    const source = createReadStream(file);
    return { source, isClosed: () => source.closed };
  },
  'a ReadableStream': () => {
    let isCancelled = false;
    const source = new ReadableStream<string>({
      start: controller => controller.enqueue('first\n'),
      cancel: () => {
        isCancelled = true;
      },
    });
    return { source, isClosed: () => isCancelled };
  },
  'the body of a fetch': async () => {
    const { port } = server.address() as AddressInfo;
    const ended = once(server, 'request').then(([, response]) => once(response, 'close'));
    const { body } = await fetch(`http://127.0.0.1:${port}`);
    let isClosed = false;
    ended.then(() => {
      isClosed = true;
    });
    return { source: body!, isClosed: () => isClosed };
  },
  'an async generator': () => {
    const endless = async function* () {
      yield 'first\n';
      await new Promise(() => {});
    };
    const source = endless();
    let isClosed = false;
    const { return: close } = source;
    source.return = value => {
      isClosed = true;
      return close.call(source, value);
    };
    return { source, isClosed: () => isClosed };
  },
  'a Flow': () => {
    let [opened, closed] = [0, 0];
    const source = new Flow<string>(async function* ({ signal }) {
      opened++;
      try {
        yield { items: ['first\n'] };
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
      } finally {
        closed++;
      }
    });
    return { source, isClosed: () => opened === closed };
  },
  'a Minipass stream': () => {
    const source = new Minipass<string>({ encoding: 'utf8' });
    source.write('first\n');
    return { source, isClosed: () => source.destroyed };
  },
};

const failure = new Error('it broke');
const reason = new Error('enough');
const failing = () =>
  new Flow<string>(async function* () {
    yield { items: ['other'] };
    throw failure;
  });
const failsUnread = async () => {
  throw failure;
};
const failsAtItem = async (input: AsyncIterable<unknown>) => {
  for await (const _ of input) throw failure;
};
const aborted = () => AbortSignal.abort(reason);

/**
 * A run can end in these ways before or while it reads its source. `error` is the error with which
 * it rejects.
 */
const ENDS: Readonly<
  Record<string, { run(source: Source<unknown>): Promise<unknown>; readonly error?: unknown }>
> = {
  'the sink fails before it reads': {
    run: source => pipeline(source, failsUnread),
    error: failure,
  },
  'the sink fails at an item': { run: source => pipeline(source, failsAtItem), error: failure },
  'the sink ends before it reads': { run: source => pipeline(source, async () => {}) },
  'the run is aborted before it starts': {
    run: source => pipeline(source, collect(), { signal: aborted() }),
    error: reason,
  },
  'a run into a Writable is aborted before it starts': {
    run: source => pipeline(source, new PassThrough(), { signal: aborted() }),
    error: reason,
  },
  'the run is aborted while the sink reads': {
    run: source => {
      const controller = new AbortController();
      const abort = () => setImmediate(() => controller.abort(reason));
      return pipeline(source, tap(abort), collect(), { signal: controller.signal });
    },
    error: reason,
  },
  'the checkpoint cannot be opened': {
    run: async source => {
      const checkpoint = path.join(folder, 'checkpoint.json');
      await mkdir(checkpoint);
      return pipeline(source, files({ path: path.join(folder, 'out.jsonl'), checkpoint }));
    },
    error: expect.objectContaining({ code: 'ERR_STORAGE' }),
  },
  'take(0) stops the run': { run: source => pipeline(source, take(0), collect()) },
  'take(1) stops the run': { run: source => pipeline(source, take(1), collect()) },
  'take(0) before a Transform stops the run': {
    run: source => pipeline(source, new PassThrough({ objectMode: true }), take(0), collect()),
  },
  'the source before it in concat() fails': {
    run: source => pipeline(concat(failing(), source), collect()),
    error: failure,
  },
  'another source in merge() fails': {
    run: source => pipeline(merge(source, failing()), collect()),
    error: failure,
  },
  'another source in merge() within concat() fails': {
    run: source => pipeline(merge(concat(failing(), source), failing()), collect()),
    error: failure,
  },
  'the sink after an operator that was called with the source fails': {
    run: source => pipeline(tap(() => {})(source as AsyncIterable<unknown>), failsUnread),
    error: failure,
  },
  'the sink after a composed operator that was called with the source fails': {
    run: source => {
      const operator = compose(
        tap(() => {}),
        tap(() => {}),
      );
      return pipeline(operator(source as AsyncIterable<unknown>), failsUnread);
    },
    error: failure,
  },
  'a later argument of pipeline() is not a stage': {
    run: source => pipeline(source, unchecked<Operator<unknown, unknown>>(7), collect()),
    error: expect.any(OptionError),
  },
  'a loop over concat() ends early': {
    run: async source => {
      for await (const _ of concat(failing(), source)) break;
    },
  },
  'a loop over concat() fails because of another source': {
    run: async source => {
      for await (const _ of concat(failing(), source));
    },
    error: failure,
  },
};

describe.each(Object.keys(SOURCES))('%s used as the source of a run', kind => {
  it.each(Object.keys(ENDS))('is closed when %s', async end => {
    const { source, isClosed } = await SOURCES[kind]!();
    const { run, error } = ENDS[end]!;
    if (error === undefined) await run(source);
    else await expect(run(source)).rejects.toEqual(error);
    await until(isClosed);
  });
});

describe('a read stream of a missing file as the source', () => {
  const missing = () => createReadStream(path.join(folder, 'missing'));
  const out = () => path.join(folder, 'out');
  const ENOENT = expect.objectContaining({ code: 'ENOENT' });

  it('rejects a run into csv() before the output is opened', async () => {
    const run = pipeline(missing(), jsonLines(), activities(), csv({ path: out() }));
    await expect(run).rejects.toEqual(ENOENT);
  });

  it('rejects a run into files() with a checkpoint', async () => {
    const checkpoint = path.join(folder, 'checkpoint.json');
    const run = pipeline(missing(), jsonLines(), files({ path: out(), checkpoint }));
    await expect(run).rejects.toEqual(ENOENT);
  });

  it('rejects the run if it is the second source of concat(), after the items of the first', async () => {
    const first = async function* () {
      for (let turn = 0; turn < 3; turn++) {
        await sleep(5);
        yield Buffer.from(`${turn}`);
      }
    };
    const seen: string[] = [];
    const run = pipeline(
      concat(first(), missing()),
      tap(bytes => void seen.push(String(bytes))),
      collect(),
    );
    await expect(run).rejects.toEqual(ENOENT);
    expect(seen).toEqual(['0', '1', '2']);
  });

  it('rejects a run of merge(), even behind an operator', async () => {
    const others = tap(() => {})(missing());
    await sleep(5);
    await expect(pipeline(merge(others, missing()), collect())).rejects.toEqual(ENOENT);
  });

  it('does not crash the process if the run has failed for another reason', async () => {
    const source = missing();
    await expect(pipeline(source, failsUnread)).rejects.toBe(failure);
    await until(() => source.closed);
  });

  it('rejects a run with the error of a Minipass stream that failed before it was read', async () => {
    const source = new Minipass<string>({ encoding: 'utf8' });
    const run = pipeline(
      concat(
        tap(() => source.emit('error', failure))(
          (async function* () {
            yield 'first';
          })(),
        ),
        source,
      ),
      collect(),
    );
    await expect(run).rejects.toBe(failure);
  });
});

describe('sinks and stages of a pipeline that are streams', () => {
  const discard = (options: WritableOptions = {}) =>
    new Writable({ ...options, write: (_item, _encoding, done) => done() });
  const lines = async function* () {
    yield 'one\n';
  };

  it('are closed when the run is aborted before it starts', async () => {
    const stage = new PassThrough();
    const sink = createWriteStream(path.join(folder, 'out'));
    const run = pipeline(lines(), stage, sink, { signal: aborted() });
    await expect(run).rejects.toBe(reason);
    expect(stage.destroyed).toBe(true);
    await until(() => sink.closed);
  });

  it('are closed by an abort if they are WritableStreams', async () => {
    const reasons: unknown[] = [];
    const sink = new WritableStream<string>({ abort: why => void reasons.push(why) });
    await expect(pipeline(lines(), sink, { signal: aborted() })).rejects.toBe(reason);
    expect(reasons).toEqual([reason]);
  });

  it('are closed by an abort if they are TransformStreams', async () => {
    const stage = new TransformStream<string, string>();
    const run = pipeline(lines(), stage, new WritableStream<string>(), { signal: aborted() });
    await expect(run).rejects.toBe(reason);
    await expect(stage.readable.getReader().read()).resolves.toMatchObject({ done: true });
  });

  it('are closed by an abort at both ends if they are { writable, readable } objects', async () => {
    const reasons: unknown[] = [];
    const stage = {
      writable: new WritableStream<string>({ abort: why => void reasons.push(why) }),
      readable: new ReadableStream<string>({ cancel: why => void reasons.push(why) }),
    };
    const sink = new WritableStream<string>();
    await expect(pipeline(lines(), stage, sink, { signal: aborted() })).rejects.toBe(reason);
    expect(reasons).toEqual([reason, reason]);
  });

  it('are closed in every branch of a tee if its checkpoint cannot be opened', async () => {
    const checkpoint = path.join(folder, 'checkpoint.json');
    await mkdir(checkpoint);
    const other = createWriteStream(path.join(folder, 'other'));
    const [nested, web] = [discard(), new WritableStream<string>()];
    const branches = tee(
      files({ path: path.join(folder, 'out.jsonl') }),
      other,
      compose(
        tap(() => {}),
        nested,
      ),
      web,
      { checkpoint },
    );
    await expect(pipeline(lines(), branches)).rejects.toMatchObject({ code: 'ERR_STORAGE' });
    await until(() => other.closed && nested.destroyed);
    await expect(web.getWriter().closed).rejects.toMatchObject({ code: 'ERR_STORAGE' });
  });

  it('reject the run with their error if they fail before the first write', async () => {
    const checkpoint = path.join(folder, 'checkpoint.json');
    const other = createWriteStream(path.join(folder, 'missing', 'other'));
    const branches = tee(files({ path: path.join(folder, 'out.jsonl') }), other, { checkpoint });
    await expect(pipeline(lines(), branches)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('stay open after a run that succeeds if they have no autoDestroy', async () => {
    const sink = discard({ autoDestroy: false });
    await pipeline(lines(), sink);
    expect(sink.destroyed).toBe(false);
  });
});

describe('a stream that was already used', () => {
  const again = expect.objectContaining({
    code: 'ERR_OPTION',
    message: expect.stringMatching(/was used before\. Make one for each run$/),
  });
  const numbers = async function* () {
    yield 'one';
  };

  it.each([
    ['Transform', () => new PassThrough({ objectMode: true })],
    ['Minipass stream', () => new Minipass<string>({ objectMode: true })],
    ['TransformStream', () => new TransformStream<string, string>()],
  ])('is rejected as a stage: a %s', async (_kind, make) => {
    const stage = make() as PassThrough;
    expect(await pipeline(numbers(), stage, collect())).toEqual(['one']);
    await expect(pipeline(numbers(), stage, collect())).rejects.toEqual(again);
  });

  it('is rejected as a stage if something else has ended it', async () => {
    const stage = new PassThrough({ objectMode: true });
    stage.end();
    await expect(pipeline(numbers(), stage, collect())).rejects.toEqual(again);
  });

  it.each([
    ['Readable', () => Readable.from(['one'])],
    ['ReadableStream', () => ReadableStream.from(['one'])],
    ['generator', () => numbers()],
    ['Minipass stream', () => new Minipass({ objectMode: true }).end('one')],
  ])('is rejected as a source because it has no items left: a %s', async (_kind, make) => {
    const source = make() as Readable;
    expect(await pipeline(source, collect())).toEqual(['one']);
    await expect(pipeline(source, collect())).rejects.toEqual(again);
  });

  it('is rejected as a source if something else has read it to its end', async () => {
    const source = Readable.from(['one']);
    for await (const _ of source);
    await expect(pipeline(source, collect())).rejects.toEqual(again);
  });

  it('is rejected as a source if it was closed unread', async () => {
    const source = numbers();
    await pipeline(source, take(0), collect());
    await expect(pipeline(source, collect())).rejects.toEqual(again);
  });
});
