import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { type Batch, type Cursor, Flow, identityOf } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { compose } from '../../src/operators/compose.js';
import { map } from '../../src/operators/map.js';
import { take } from '../../src/operators/take.js';
import { collect } from '../../src/sinks/collect.js';
import { unchecked } from '../unchecked.js';

const source = () =>
  new Flow<number>(async function* ({ resume }) {
    const from = Number(resume?.at ?? 0);
    for (let at = from; at < 6; at++) yield { items: [at], cursor: { at: at + 1 } };
  });
const double = map((value: number) => 2 * value);

async function batchesIn(flow: Flow<number>, resume?: Cursor): Promise<Batch<number>[]> {
  const batches: Batch<number>[] = [];
  for await (const batch of flow.batches({ resume })) batches.push(batch);
  return batches;
}

describe('compose', () => {
  it('applies its operators in order, separately for each run', async () => {
    const composed = compose(
      double,
      async function* (values) {
        for await (const value of values) yield value + 1;
      },
      new PassThrough({ objectMode: true }),
      map((value: number) => `${value}`),
    );
    expect(await pipeline(source(), composed, collect())).toEqual(['1', '3', '5', '7', '9', '11']);
    const flow = compose(double, take(2))(source());
    for (let run = 0; run < 2; run++) expect(await pipeline(flow, collect())).toEqual([0, 2]);
  });

  it('joins more operators than pipeline() accepts', async () => {
    const eight = compose(double, double, double, double, double, double, double, double);
    expect(await pipeline(source(), eight, eight, take(2), collect())).toEqual([0, 2 ** 16]);
  });

  it('has the same identity in checkpoints as its operators without compose, and resumes like them', async () => {
    const [composed, listed] = [compose(double, take(3))(source()), take(3)(double(source()))];
    expect(identityOf(composed)).toEqual(identityOf(listed));
    const [first] = await batchesIn(composed);
    const rest = await batchesIn(composed, first!.cursor!);
    expect(rest.flatMap(({ items }) => items)).toEqual([2, 4]);
  });

  it('throws an OptionError with the position of a value that is not an operator', () => {
    expect(() => compose(...unchecked<[typeof double]>([]))).toThrow(OptionError);
    expect(() => compose(unchecked<typeof double>([]), double)).toThrow(
      'Expected argument 1 of `compose` to be an operator',
    );
    // Only the last argument may be a sink. Therefore, the error for it mentions sinks.
    expect(() => compose(double, unchecked<typeof double>([]))).toThrow(
      'Expected argument 2 of `compose` to be a sink',
    );
  });
});
