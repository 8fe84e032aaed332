import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import { type Cursor, Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { take } from '../../src/operators/take.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { merge } from '../../src/sources/merge.js';
import { all, texts, until } from '../json/cut.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { itemsOf, newState, type Step, scripted, withCrashes } from './scripted-source.js';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const step: fc.Arbitrary<Step> = fc.record({
  items: fc.nat(3),
  cursor: fc.boolean(),
  wait: fc.constantFrom('none', 'none', 'tick', 'ms'),
});
const steps = fc.array(step, { maxLength: 12 });
const crashes = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 });
const NAMES = ['a', 'b', 'c', 'd'];

const each = (count: number, cursorEvery: number): Step[] =>
  Array.from({ length: count }, (_, index) => ({
    items: 1,
    cursor: (index + 1) % cursorEvery === 0,
    wait: 'tick',
  }));

const endless = (name: string, state = newState()) =>
  new Flow<string>(async function* () {
    state.opened++;
    try {
      for (let item = 0; ; item++) {
        state.batches++;
        await new Promise(setImmediate);
        yield { items: [`${name}:${item}`], cursor: { item } };
      }
    } finally {
      state.closed++;
    }
  });

const silent = (state = newState()) =>
  new Flow<string>(async function* ({ signal }) {
    state.opened++;
    try {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    } finally {
      state.closed++;
    }
  });

async function cursorsOf(flow: Flow<unknown>): Promise<Cursor[]> {
  const cursors: Cursor[] = [];
  for await (const { cursor } of flow.batches()) if (cursor !== undefined) cursors.push(cursor);
  return cursors;
}

describe('merge', () => {
  it('delivers every item exactly once and in the order of its source, despite any crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(steps, { minLength: 1, maxLength: 4 }),
        crashes,
        async (scripts, limits) => {
          const flow = merge(...scripts.map((script, index) => scripted(NAMES[index]!, script)));
          const items = await withCrashes(flow, limits);
          for (const [index, script] of scripts.entries()) {
            const name = NAMES[index]!;
            expect(items.filter(item => item.startsWith(name))).toEqual(itemsOf(name, script));
          }
          expect(items.length).toBe(
            scripts.flat().reduce((sum, { items: count }) => sum + count, 0),
          );
        },
      ),
      { numRuns: bySuite(5, 240) },
    );
  });

  it('returns cursors that contain the cursor of each source', async () => {
    const flow = merge(scripted('a', each(2, 1)), scripted('b', each(1, 1)));
    expect((await cursorsOf(flow)).at(-1)).toEqual({ merge: ['done', 'done'] });
    const [first] = await cursorsOf(flow);
    expect(first).toEqual({ merge: [{ step: 1 }, null] });
  });

  it('returns many cursors even if the cursors of its sources are far apart', async () => {
    const [a, b, c] = [each(210, 21), each(130, 13), each(200, 1)];
    const flow = merge(scripted('a', a), scripted('b', b), scripted('c', c));
    // `a` and `b` have 10 cursors each, and `c` has 200. If the turn of a source ended before its
    // next cursor, the flow would have only a few cursors.
    expect((await cursorsOf(flow)).length).toBeGreaterThan(150);
  });

  it('returns as many cursors after a source has delivered 256 batches between its cursors', async () => {
    const [a, b] = [each(1_050, 21), each(1_000, 1)];
    const flow = merge(scripted('a', a), scripted('b', b));
    // `a` has 50 cursors, with 20 batches before each. No more than 256 batches come between two
    // cursors, so `a` is always read to its next cursor.
    const cursors = await cursorsOf(flow);
    const late = cursors.filter(({ merge }) => {
      const [stand] = merge as readonly [{ readonly step: number } | 'done' | null];
      return stand === 'done' || (stand?.step ?? 0) > 500;
    });
    expect(late.length).toBeGreaterThan(400);
  });

  it('returns no cursor while a source that has no cursors is still open', async () => {
    const flow = merge(scripted('a', each(20, 99)), scripted('b', each(40, 1)));
    const cursors = await cursorsOf(flow);
    expect(cursors.length).toBeGreaterThan(0);
    for (const { merge: stands } of cursors)
      expect(['done', null]).toContain((stands as readonly Cursor[])[0]);
  });

  it('returns no cursor until each source has one, so that no item is delivered twice', async () => {
    let goOn = () => {};
    const othersDone = new Promise<void>(resolve => {
      goOn = resolve;
    });
    const late = new Flow<string>(async function* ({ resume }) {
      if (resume !== undefined) return;
      yield { items: ['a:0'] };
      // This source waits longer than the other sources wait for it.
      await othersDone;
      yield { items: ['a:1'], cursor: { done: true } };
    });
    const other = new Flow<string>(async function* ({ resume }) {
      try {
        yield* scripted('b', each(3, 1)).batches({ resume });
      } finally {
        goOn();
      }
    });
    const items = await withCrashes(merge(late, other), [4]);
    expect(items.sort()).toEqual(['a:0', 'a:1', 'b:0', 'b:1', 'b:2']);
  });

  it('does not open a source that is complete, even if an earlier run completed it', async () => {
    const [a, b] = [newState(), newState()];
    const flow = merge(scripted('a', each(2, 1), a), scripted('b', each(2, 1), b));
    const resume = { merge: ['done', { step: 1 }] };
    expect(await all(new Flow(run => flow.batches({ ...run, resume })))).toEqual(['b:1']);
    expect([a.opened, b.opened]).toEqual([0, 1]);
  });

  it.each([[{ merge: [null] }], [{ merge: [null, 'gone'] }], [{ merge: 'done' }], [{ step: 1 }]])(
    'rejects the cursor %j of another flow',
    async resume => {
      const flow = merge(scripted('a', each(1, 1)), scripted('b', each(1, 1)));
      const { error } = await until(new Flow(run => flow.batches({ ...run, resume })));
      expect(error).toBeInstanceOf(OptionError);
      const message = expect.stringMatching(/merge.* 2 .* to start again$/);
      expect(error).toMatchObject({ option: 'resume', message });
    },
  );

  it('alternates between two sources that always have items', async () => {
    const items = await all(take<string>(100)(merge(endless('a'), endless('b'))));
    expect(items.filter(item => item.startsWith('a')).length).toBeGreaterThanOrEqual(45);
    expect(items.filter(item => item.startsWith('b')).length).toBeGreaterThanOrEqual(45);
  });

  it('still delivers items of the other sources if one source has no cursors', async () => {
    const endlessItems = async function* () {
      for (let item = 0; ; item++) yield `x:${item}`;
    };
    const items = await all(take<string>(1000)(merge(endlessItems(), endless('b'))));
    expect(items.filter(item => item.startsWith('b')).length).toBeGreaterThan(40);
  });

  it('delivers items of every source even if one source has few cursors', async () => {
    const slow: Step[] = each(4, 4).map(one => ({ ...one, wait: 'ms' }));
    const stuck = new Flow<string>(async function* ({ signal }) {
      yield { items: ['stuck:0'] };
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    });
    const merged = merge(stuck, endless('b'), scripted('slow', slow));
    const items = await all(take<string>(100)(merged));
    expect(items.filter(item => item.startsWith('slow'))).toEqual(itemsOf('slow', slow));
    expect(items.length).toBe(100);
  });

  it('reads at most one batch ahead of each source', async () => {
    const states = [newState(), newState(), newState()];
    const flow = merge(...states.map((state, index) => endless(NAMES[index]!, state)));
    const delivered = [0, 0, 0];
    for await (const { items } of flow.batches()) {
      for (const item of items) delivered[NAMES.indexOf(item.slice(0, 1))]!++;
      await new Promise(resolve => setTimeout(resolve, 1));
      for (const [index, { batches }] of states.entries())
        expect(batches - delivered[index]!).toBeLessThanOrEqual(1);
      if (delivered[0] === 10) break;
    }
  });

  it('rejects with the first error, and closes every source', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const failure = new Error('broken');
    const states = [newState(), newState()];
    const failing = new Flow<string>(async function* () {
      yield { items: ['bad:0'], cursor: { at: 1 } };
      throw failure;
    });
    const { error } = await until(merge(silent(states[0]), failing, endless('b', states[1])));
    expect(error).toBe(failure);
    expect(states.map(({ opened, closed }) => opened - closed)).toEqual([0, 0]);
    await new Promise(resolve => setTimeout(resolve, 5));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it('closes every source on an abort and on break', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const reason = new Error('enough');
    const states = [newState(), newState()];
    const controller = new AbortController();
    const run = pipeline(merge(silent(states[0]), silent(states[1])), collect(), {
      signal: controller.signal,
    });
    setImmediate(() => controller.abort(reason));
    await expect(run).rejects.toBe(reason);
    for await (const _ of merge(silent(states[0]), endless('b', states[1]))) break;
    await new Promise(resolve => setTimeout(resolve, 5));
    expect(states.map(({ opened, closed }) => [opened, closed])).toEqual([
      [2, 2],
      [2, 2],
    ]);
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it('never interleaves the parts of a document with bytes of another source', async () => {
    const line = (name: string) => `{"name":"${name}","text":"${'x'.repeat(40)}"}\n`;
    const blocks = (name: string, cursors: boolean) =>
      new Flow<Uint8Array>(async function* () {
        for (let file = 0; file < 3; file++) {
          const bytes = Buffer.from(line(`${name}${file}`).repeat(120).trimEnd());
          for (let at = 0; at < bytes.length; at += 20) {
            if (at % 60 === 0) await new Promise(setImmediate);
            yield { items: [bytes.subarray(at, at + 20)], origin: name };
          }
          if (cursors) yield { items: [], cursor: { file: file + 1 } };
          else yield { items: [Buffer.from('\n')] };
        }
      });
    const merged = merge(blocks('a', true), blocks('b', true), blocks('c', false));
    const lines = await texts(jsonLines()(merged));
    expect(lines.length).toBe(3 * 3 * 120);
    expect(new Set(lines).size).toBe(9);
  });

  it('restores the state of the operators in each of its sources', async () => {
    const doubled = (name: string) =>
      new Flow<string>(
        async function* ({ resume }) {
          for (let page = Number(resume?.page ?? 0); page < 30; page++) {
            await new Promise(setImmediate);
            // One item is both on a page and on the next page.
            yield { items: [`${name}:${page}`, `${name}:${page + 1}`], cursor: { page: page + 1 } };
          }
        },
        undefined,
        [{ step: name }],
      );
    const flow = merge(
      dedupe<string>({ key: item => item })(doubled('a')),
      dedupe<string>({ key: item => item })(doubled('b')),
    );
    const items = await withCrashes(flow, [3, 8, 1, 20]);
    for (const name of ['a', 'b'])
      expect(items.filter(item => item.startsWith(name))).toEqual(
        Array.from({ length: 31 }, (_, item) => `${name}:${item}`),
      );
  });

  it('rejects a checkpoint with other sources or another order', async () => {
    const [a, b] = [scripted('a', each(3, 1)), scripted('b', each(3, 1))];
    const sink = () =>
      files({ path: path.join(folder, 'out.txt'), checkpoint: path.join(folder, 'out.json') });
    expect((await pipeline(merge(a, b), sink())).posts).toBe(6);
    expect((await pipeline(merge(a, b), sink())).posts).toBe(6);
    for (const others of [[b, a], [a], [a, b, b]])
      await expect(pipeline(merge(...others), sink())).rejects.toThrow(StorageError);
  });

  it('reports the counts and the progress fraction of all sources together', async () => {
    const part = (fractions: readonly number[]) =>
      new Flow<number>(async function* ({ progress }) {
        for (const fraction of fractions) {
          progress!.received++;
          progress!.fraction = fraction;
          yield { items: [fraction], cursor: { fraction } };
        }
      });
    const progress = new Progress();
    const seen: (number | undefined)[] = [];
    for await (const _ of merge(part([0.5, 1]), part([0.25])).batches({ progress }))
      seen.push(progress.fraction);
    expect(seen.at(-1)).toBe(1);
    expect(seen[0]).toBeLessThan(1);
    expect(progress.received).toBe(3);
  });

  it('counts sources that earlier runs have read to their ends in the progress fraction', async () => {
    const half = new Flow<number>(async function* ({ progress }) {
      progress!.fraction = 0.5;
      yield { items: [1], cursor: { half: true } };
    });
    const progress = new Progress();
    const resume = { merge: ['done', null] };
    const seen: (number | undefined)[] = [];
    for await (const { items } of merge(endless('a'), half).batches({ progress, resume }))
      if (items.length > 0) seen.push(progress.fraction);
    expect(seen).toEqual([0.75]);
    expect(progress.fraction).toBe(1);
  });

  it('throws for arguments that are not sources before it reads', () => {
    expect(() => merge()).toThrow('`merge` has no source');
    const list = unchecked([endless('a')]);
    expect(() => merge(list)).toThrow('Spread the array: `merge(...sources)`');
    expect(() => merge(endless('a'), unchecked(dedupe))).toThrow(/argument 2 of `merge`/);
  });
});
