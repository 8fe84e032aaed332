import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Flow, type Sink } from '../../src/flow/flow.js';
import { withInternals } from '../../src/flow/internals.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { RunSummary } from '../../src/flow/progress.js';
import { compose } from '../../src/operators/compose.js';
import { filter } from '../../src/operators/filter.js';
import { collect } from '../../src/sinks/collect.js';
import { stdout } from '../../src/sinks/stdout.js';
import { tee } from '../../src/sinks/tee.js';
import { unchecked } from '../unchecked.js';

const numbers = () =>
  new Flow<number>(async function* () {
    yield { items: [1, 2, 3] };
    yield { items: [4, 5] };
  });
const discarding = () =>
  new Writable({ objectMode: true, write: (_chunk, _encoding, done) => done() });
const own = async (input: AsyncIterable<number>) => {
  for await (const _ of input);
};

it.each<[string, () => unknown, number]>([
  ['a function', () => own, 5],
  ['a Writable of Node', discarding, 5],
  ['a WritableStream', () => new WritableStream(), 5],
  ['collect()', collect, 5],
  ['stdout(), which counts itself', () => stdout({ stream: discarding() }), 5],
  [
    'a sink of compose()',
    () =>
      compose(
        filter((n: number) => n > 3),
        own,
      ),
    2,
  ],
  [
    'branches of tee()',
    () =>
      tee(
        own,
        compose(
          filter((n: number) => n > 3),
          collect(),
        ),
      ),
    7,
  ],
])(
  'a run counts as written the items that its sink has received: %s',
  async (_name, sink, written) => {
    let summary: RunSummary | undefined;
    await pipeline(numbers(), unchecked<Sink<number>>(sink()), {
      onSummary: value => (summary = value),
    });
    expect(summary?.written).toBe(written);
  },
);

it('a run does not count as written the item at which its sink failed', async () => {
  let summary: RunSummary | undefined;
  const failing = async (input: AsyncIterable<number>) => {
    for await (const item of input) if (item === 4) throw new Error('full');
  };
  const run = pipeline(numbers(), failing, { onSummary: value => (summary = value) });
  await expect(run).rejects.toThrow('full');
  expect(summary?.written).toBe(3);
});

it('a run that is aborted ends only when a sink that holds locks has released them', async () => {
  const stop = new AbortController();
  let isReleased = false;
  const locked = async (input: AsyncIterable<number>) => {
    try {
      for await (const _ of input) stop.abort(new Error('enough'));
    } finally {
      // A run waits 250 ms for a sink without locks.
      await sleep(500);
      isReleased = true;
    }
  };
  const sink = withInternals(locked, { holdsLocks: true });
  await expect(pipeline(numbers(), sink, { signal: stop.signal })).rejects.toThrow('enough');
  expect(isReleased).toBe(true);
});
