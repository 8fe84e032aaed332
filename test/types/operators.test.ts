import { describe, expectTypeOf, it } from 'vitest';
import { type Flow, Flow as Opened } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { Json } from '../../src/json/type-guards.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonArray } from '../../src/operators/json-array.js';
import { jsonElements } from '../../src/operators/json-elements.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { map } from '../../src/operators/map.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import type { Activity, Routed } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import { localFiles } from '../../src/sources/local-files.js';

// The compiler checks these types (`npm run check`). At run time, the tests only show that the
// calls exist.
const posts: Flow<Activity> = new Opened(async function* () {});

describe('the types of operators', () => {
  it('flow from localFiles to routed activities', () => {
    const join = () =>
      pipeline(
        localFiles('archive'),
        gunzip(),
        jsonLines(),
        activities(),
        dedupe(),
        take(10),
        routeByTag(),
        collect(),
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<Routed[]>();
    const elements = () =>
      pipeline(localFiles('pages'), jsonElements('results'), activities(), collect());
    expectTypeOf(elements).returns.resolves.toEqualTypeOf<Activity[]>();
    const rules = () => pipeline(localFiles('rules.json'), jsonArray('rules'), collect());
    expectTypeOf(rules).returns.resolves.toEqualTypeOf<Json[]>();
  });

  it('are inferred from the types of earlier stages', () => {
    const join = () =>
      pipeline(
        posts,
        tap(post => post.id),
        filter(post => post.lang === 'en'),
        map(post => ({ id: post.id, length: post.text.length })),
        dedupe({ key: short => short.id }),
        mapAsync(async short => short.length),
        filter(length => length > 5),
        collect(),
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<number[]>();
  });

  it('are narrowed by a type predicate in filter()', () => {
    const isText = (value: string | number): value is string => typeof value === 'string';
    const join = () =>
      pipeline(
        posts,
        map((post): string | number => post.text),
        filter(isText),
        collect(),
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<string[]>();
  });

  it('do not allow stages that do not fit together', () => {
    const test = async (post: Activity) => post.lang === 'en';
    const texts = map((post: Activity) => post.text);
    const rounded = { key: (post: Activity) => Number(post.id) };
    // @ts-expect-error an asynchronous test would let everything pass
    const late = () => pipeline(posts, filter(test), collect());
    // @ts-expect-error only activities have an id of their own; others need a key
    const keyless = () => pipeline(posts, texts, dedupe(), collect());
    // @ts-expect-error a number would not hold an id
    const inexact = () => pipeline(posts, dedupe(rounded), collect());
    expectTypeOf([late, keyless, inexact]).toBeArray();
  });
});
