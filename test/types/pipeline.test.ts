import { Writable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Minipass } from 'minipass';
import { Gunzip, Gzip } from 'minizlib';
import { describe, expectTypeOf, it } from 'vitest';
import { Flow, type Operator, perBatch, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { chunk } from '../../src/operators/chunk.js';
import { compose } from '../../src/operators/compose.js';
import { filter } from '../../src/operators/filter.js';
import { map } from '../../src/operators/map.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { throttle } from '../../src/operators/throttle.js';
import { through } from '../../src/operators/through.js';
import type { Activity } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import type { Written } from '../../src/sinks/commit/run-result.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { merge } from '../../src/sources/merge.js';

// The compiler checks these types (`npm run check`). At run time, the tests only show that the
// calls exist.
const bytes = new Flow<Uint8Array>(async function* () {});
const next = <In, Out>(): Operator<In, Out> => perBatch<In, Out>(() => []);
interface Post {
  readonly id: string;
}
const toPosts = next<Uint8Array, Post>();
const same = <T>(): Operator<T, T> => perBatch<T, T>(items => items);
const ids: Sink<Post, string[]> = async () => [];

describe('the types of a pipeline', () => {
  it('flow from the source through the operators to the result', () => {
    const join = () => pipeline(bytes, toPosts, same(), collect());
    expectTypeOf(join).returns.resolves.toEqualTypeOf<Post[]>();
  });

  it('are inferred through nine operators', () => {
    const join = () =>
      pipeline(
        new Flow<1>(async function* () {}),
        ...([next<1, 2>(), next<2, 3>(), next<3, 4>(), next<4, 5>(), next<5, 6>()] as const),
        next<6, 7>(),
        next<7, 8>(),
        next<8, 9>(),
        next<9, Post>(),
        ids,
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<string[]>();
  });

  it('allow a Transform to produce the type that the next stage needs', () => {
    const join = () => pipeline(bytes, createGunzip(), toPosts, ids);
    expectTypeOf(join).returns.resolves.toEqualTypeOf<string[]>();
  });

  it('flow through minipass streams at every position', () => {
    const join = () => pipeline(new Gunzip({}), new Gunzip({}), new Gzip({}), collect());
    expectTypeOf(join).returns.resolves.toEqualTypeOf<Buffer[]>();
    const written = () => pipeline(bytes, new Gzip({}));
    expectTypeOf(written).returns.resolves.toEqualTypeOf<void>();
    const objects = () => pipeline(new Minipass<Post, Post>({ objectMode: true }), ids);
    expectTypeOf(objects).returns.resolves.toEqualTypeOf<string[]>();
    // @ts-expect-error posts are not bytes
    const unfit = () => pipeline(bytes, toPosts, new Gzip({}), collect());
    expectTypeOf(unfit).toBeFunction();
  });

  it('flow through web streams at every position', () => {
    const decoded = () => pipeline(bytes, new TextDecoderStream(), collect());
    expectTypeOf(decoded).returns.resolves.toEqualTypeOf<string[]>();
    const made = () => pipeline(bytes, new TransformStream<Uint8Array, Post>(), ids);
    expectTypeOf(made).returns.resolves.toEqualTypeOf<string[]>();
    const source = () => pipeline(new ReadableStream<Post>(), same(), collect());
    expectTypeOf(source).returns.resolves.toEqualTypeOf<Post[]>();
    const written = () => pipeline(bytes, toPosts, new WritableStream<Post>());
    expectTypeOf(written).returns.resolves.toEqualTypeOf<void>();
    const operator = through(new TransformStream<Post, number>());
    expectTypeOf(operator).toEqualTypeOf<Operator<Post, number>>();
    const joined = compose(toPosts, new TransformStream<Post, number>());
    expectTypeOf(joined).toEqualTypeOf<Operator<Uint8Array, number>>();
    // @ts-expect-error posts are not bytes
    const unfit = () => pipeline(bytes, toPosts, new TextDecoderStream(), collect());
    // @ts-expect-error posts are not bytes
    const unwritten = () => pipeline(bytes, toPosts, new WritableStream<Uint8Array>());
    expectTypeOf([unfit, unwritten]).toBeArray();
  });

  it('of merged sources are the union of their types', () => {
    const posts = toPosts(bytes);
    const either = () => pipeline(merge(posts, new ReadableStream<string>()), collect());
    expectTypeOf(either).returns.resolves.toEqualTypeOf<(Post | string)[]>();
    const alike = concat(...[posts, posts]);
    expectTypeOf(alike).toEqualTypeOf<Flow<Post>>();
    const chunks = () =>
      pipeline(
        posts,
        chunk(10),
        mapAsync(async some => some.map(({ id }) => id)),
        throttle({ perSecond: 5 }),
        collect(),
      );
    expectTypeOf(chunks).returns.resolves.toEqualTypeOf<string[][]>();
  });

  it('allow options after any number of operators', () => {
    const { signal } = new AbortController();
    const none = () => pipeline(bytes, collect(), { signal });
    expectTypeOf(none).returns.resolves.toEqualTypeOf<Uint8Array[]>();
    const one = () => pipeline(bytes, toPosts, collect(), { signal });
    expectTypeOf(one).returns.resolves.toEqualTypeOf<Post[]>();
    const three = () => pipeline(bytes, new Gunzip({}), toPosts, same(), collect(), { signal });
    expectTypeOf(three).returns.resolves.toEqualTypeOf<Post[]>();
  });

  it('allow a Writable instead of a sink', () => {
    const join = () => pipeline(bytes, toPosts, new Writable({ objectMode: true }));
    expectTypeOf(join).returns.resolves.toEqualTypeOf<void>();
  });

  it('allow an async generator function as an operator', () => {
    const counted = () =>
      pipeline(
        bytes,
        toPosts,
        async function* (posts) {
          for await (const { id } of posts) yield id.length;
        },
        same(),
        collect(),
      );
    expectTypeOf(counted).returns.resolves.toEqualTypeOf<number[]>();
    const numbers = async function* () {
      yield 1;
    };
    // @ts-expect-error numbers are not posts
    const wrong = () => pipeline(bytes, numbers, ids);
    expectTypeOf(wrong).toBeFunction();
  });

  it('flow through composed operators', () => {
    const composed = compose(
      toPosts,
      same(),
      perBatch<Post, string>(() => []),
    );
    expectTypeOf(composed).toEqualTypeOf<Operator<Uint8Array, string>>();
    const join = () => pipeline(bytes, composed, collect());
    expectTypeOf(join).returns.resolves.toEqualTypeOf<string[]>();
    const inferred = () => pipeline(bytes, compose(same(), toPosts), ids);
    expectTypeOf(inferred).returns.resolves.toEqualTypeOf<string[]>();
    // @ts-expect-error the operators are in the wrong order
    const swapped = () => compose(toPosts, toPosts);
    expectTypeOf(swapped).toBeFunction();
    const ended = () => compose(toPosts, ids);
    expectTypeOf(ended).returns.toEqualTypeOf<Sink<Uint8Array, string[]>>();
    // @ts-expect-error a sink is not an operator
    const early = () => compose(ids, toPosts);
    expectTypeOf(early).toBeFunction();
  });

  it('flow into the branches of tee', () => {
    const numbers = new Flow<number>(async function* () {});
    const join = () =>
      pipeline(
        numbers,
        map(n => ({ id: String(n), n })),
        tee(
          files({ path: 'a' }),
          compose(
            filter(({ n }) => n > 1),
            files({ path: 'b', line: ({ id }) => id }),
          ),
          collect(),
          compose(
            map(({ id }) => id),
            collect(),
          ),
          async items => {
            for await (const { n } of items) return n;
            return undefined;
          },
          { checkpoint: 'c' },
        ),
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<
      [Written, Written, { id: string; n: number }[], string[], number | undefined]
    >();
    const alone = () => tee(csv({ path: 'a.csv' }), collect(), { checkpoint: 'c' });
    expectTypeOf(alone).returns.toEqualTypeOf<Sink<Activity, [Written, Activity[]]>>();
    // @ts-expect-error bytes are not posts
    const wrong = () => pipeline(bytes, tee(collect(), ids));
    expectTypeOf(wrong).toBeFunction();
  });

  it('do not allow stages that do not fit together', () => {
    // @ts-expect-error bytes are not posts
    const missing = () => pipeline(bytes, ids);
    // @ts-expect-error the operators are in the wrong order
    const swapped = () => pipeline(bytes, next<Post, Post>(), toPosts, ids);
    // @ts-expect-error a pipeline ends in a sink
    const endless = () => pipeline(bytes, toPosts);
    expectTypeOf([missing, swapped, endless]).toBeArray();
  });
});
