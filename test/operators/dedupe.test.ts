import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { type Batch, type Cursor, Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress, type ProgressCounts } from '../../src/flow/progress.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { Activity } from '../../src/post/activity.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

function source<T>(batches: readonly (readonly T[])[]): Flow<T> {
  return new Flow(async function* ({ resume }) {
    for (let next = Number(resume?.next ?? 0); next < batches.length; next++)
      yield { items: batches[next]!, cursor: { next: next + 1 } };
  });
}

async function batchesOf<T>(flow: Flow<T>, resume?: Cursor): Promise<Batch<T>[]> {
  const batches: Batch<T>[] = [];
  for await (const batch of flow.batches({ resume })) batches.push(batch);
  return batches;
}

function postOf(n: number): Activity {
  return new Activity(Buffer.from(`{"created_at":"x","id":${n},"id_str":"${n}"}`));
}

const byKey = { key: (item: string) => item };

describe('dedupe', () => {
  it('keeps the first item of each id within the window', async () => {
    const flow = source([['a', 'b', 'a'], [], ['b', 'c', 'd', 'a', 'a']]);
    expect(await all(dedupe({ ...byKey, window: 10 })(flow))).toEqual(['a', 'b', 'c', 'd']);
    expect(await all(dedupe({ ...byKey, window: 2 })(flow))).toEqual(['a', 'b', 'c', 'd', 'a']);
  });

  it('compares activities by exact id', async () => {
    const post = (id: string, text: string) =>
      new Activity(Buffer.from(`{"created_at":"x","id":${id},"id_str":"${id}","text":"${text}"}`));
    const posts = [
      post('1050118621198921728', 'first'),
      post('1050118621198921729', 'another, though not as a number'),
      post('1050118621198921728', 'again'),
    ];
    expect(await all(dedupe()(source([posts])))).toEqual(posts.slice(0, 2));
  });

  it.each([
    ['lines without activities()', (n: number) => Buffer.from(`{"id":${n}}`)],
    ['strings', (n: number) => `{"id":${n}}`],
    ['activities with a tag', (n: number) => ({ tag: 'snow', activity: postOf(n) })],
    ['objects without an id', (n: number) => ({ n })],
  ])('fails for %s instead of dropping all items but the first', async (_, make) => {
    const items = unchecked<Activity[]>(Array.from({ length: 10 }, (_, n) => make(n)));
    const error = await all(dedupe()(source([items]))).catch(thrown => thrown);
    expect(error).toBeInstanceOf(DataError);
    expect((error as DataError).message).toMatch(
      /^dedupe\(\) reads activities, but got .+\. Put .+, or give `key`$/,
    );
  });

  it.each<[string, (item: object) => unknown, RegExp]>([
    ['is undefined', () => undefined, /returned undefined\. Filter out/],
    ['is null', () => null, /returned null\. /],
    ['is an object', item => item, /returned an object\. /],
    ['is a number that ids are rounded to', () => 2 ** 60, /returned the number 115292150460684/],
    [
      'is a promise, which may reject',
      () => Promise.reject(new Error('no')),
      /returned a promise\. /,
    ],
  ])('fails for items whose key %s', async (_, key, message) => {
    const flow = dedupe({ key: key as (item: object) => string })(source([[{}, {}]]));
    const error = await all(flow).catch(thrown => thrown);
    expect(error).toBeInstanceOf(DataError);
    expect((error as DataError).message).toMatch(message);
  });

  it('accepts strings, integers and bigints as keys', async () => {
    const key = (item: unknown) => item as string;
    const items = ['1', 1n, 1, 2, '', 2n ** 64n];
    expect(await all(dedupe({ key })(source([items])))).toEqual(['1', 2, '', 2n ** 64n]);
  });

  it('resumes from any of its cursors as if it had never stopped', async () => {
    const item = fc.oneof(
      fc.nat(20).map(String),
      fc.nat(5).map(n => `x${n}`),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(item, { maxLength: 8 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 12 }),
        async (batches, window) => {
          const flow = dedupe({ ...byKey, window })(source(batches));
          const whole = await batchesOf(flow);
          for (const [index, { cursor }] of whole.entries()) {
            const rest = whole.slice(index + 1).map(({ items }) => items);
            const kept = JSON.parse(JSON.stringify(cursor)) as Cursor;
            expect((await batchesOf(flow, kept)).map(({ items }) => items)).toEqual(rest);
            expect((await batchesOf(flow, cursor)).map(({ items }) => items)).toEqual(rest);
          }
        },
      ),
    );
  });

  it('can be used twice in a pipeline, each with its own part of the cursor', async () => {
    const batches = [
      ['a1', 'a2', 'b1'],
      ['b2', 'c1', 'a1'],
      ['c2', 'd1'],
    ];
    const first = { key: (item: string) => item[0]! };
    const flow = dedupe(byKey)(dedupe({ ...first, window: 2 })(source(batches)));
    const whole = await batchesOf(flow);
    expect(whole.map(({ items }) => items)).toEqual([['a1', 'b1'], ['c1'], ['d1']]);
    const kept = JSON.parse(JSON.stringify(whole[0]?.cursor)) as Cursor;
    expect((await batchesOf(flow, kept)).map(({ items }) => items)).toEqual([['c1'], ['d1']]);
  });

  it('counts dropped items under the name dedupe', async () => {
    const progress = new Progress();
    const flow = dedupe({ ...byKey, name: 'repeats' })(
      dedupe(byKey)(source([['a', 'a', 'b', 'a']])),
    );
    for await (const _ of flow.batches({ progress }));
    expect([...progress.dropped]).toEqual([['dedupe', 2]]);
  });

  it('drops and counts repeated posts of stored files, even with ids beyond 64 bits', async () => {
    const folder = await temporaryFolder();
    const [input, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'out.jsonl')];
    const lines = ['7', '99999999999999999999', '7', '8', '99999999999999999999', '7'].map(
      id => `{"created_at":"x","id_str":"${id}"}\n`,
    );
    await writeFile(input, lines.join(''));
    let counts: ProgressCounts | undefined;
    await pipeline(
      localFiles(input),
      jsonLines(),
      activities(),
      dedupe({ name: 'repeats' }),
      files({ path: output, workers: 0 }),
      {
        progress: progress => {
          counts = progress;
        },
      },
    );
    expect(await readFile(output, 'utf8')).toBe([lines[0], lines[1], lines[3]].join(''));
    expect([...(counts?.dropped ?? [])]).toEqual([['repeats', 3]]);
  });

  it('remembers no ids from an earlier run, and has no cursor if its input has none', async () => {
    async function* plain() {
      yield 'a';
      yield 'a';
    }
    const flow = dedupe(byKey)(new Flow(() => new Flow<string>(() => batches()).batches()));
    async function* batches() {
      yield { items: ['a', 'a'] };
    }
    expect(await all(flow)).toEqual(['a']);
    expect(await all(flow)).toEqual(['a']);
    expect(await batchesOf(dedupe(byKey)(plain()))).toEqual([
      { items: ['a'], cursor: undefined },
      { items: [], cursor: undefined },
    ]);
  });

  it('refuses a cursor that is damaged or belongs to another operator', async () => {
    const flow = dedupe(byKey)(source([['a']]));
    await expect(batchesOf(flow, { next: 1 })).rejects.toThrow('a pipeline without dedupe() here');
    await expect(batchesOf(flow, { next: 1 })).rejects.toThrow(OptionError);
    await expect(batchesOf(flow, { dedupe: ['what?'], inner: { next: 1 } })).rejects.toThrow(
      /damaged.* dedupe\(\).* to start again$/,
    );
    await expect(batchesOf(flow, { dedupe: 5, inner: { next: 1 } })).rejects.toThrow(OptionError);
  });

  it('throws an OptionError for a window of 0', () => {
    expect(() => dedupe({ window: 0 })).toThrow(OptionError);
  });
});
