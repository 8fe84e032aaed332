import { expect, it } from 'vitest';
import type { Rows } from '../../src/files/rows.js';
import { throughSteps } from '../../src/files/step.js';
import type { Cursor, Run } from '../../src/flow/flow.js';
import { unchecked } from '../unchecked.js';

function taking(name: string, count: number, log: string[]) {
  return {
    start: ({ resume }: Run) => {
      log.push(`${name} from ${JSON.stringify(resume)}`);
      const state = resume as { readonly [name: string]: unknown } | undefined;
      let taken = Number(state?.[name] ?? 0);
      return {
        resume: state?.inner as Cursor | undefined,
        get isDone() {
          return taken >= count;
        },
        pass: (rows: Rows) => {
          const some = rows.slice(0, count - taken);
          taken += some.count;
          return some;
        },
        cursor: (inner: Cursor) => ({ [name]: taken, inner }),
      };
    },
  };
}

const run = (resume?: Cursor): Run => ({ ...unchecked<Run>({}), resume });

it('throughSteps opens the last operator first, and each operator at its own part of the cursor', async () => {
  const log: string[] = [];
  const steps = [taking('first', 9, log), taking('last', 9, log)];
  const opened: unknown[] = [];
  const resume = { last: 1, inner: { first: 2, inner: { place: 3 } } };
  const all = throughSteps(steps, run(resume), async function* (at) {
    opened.push(at.resume);
    yield { items: [1, 2], cursor: { place: 4 } };
  });
  const batches = [];
  for await (const batch of all) batches.push(batch);
  expect(log).toEqual([
    'last from {"last":1,"inner":{"first":2,"inner":{"place":3}}}',
    'first from {"first":2,"inner":{"place":3}}',
  ]);
  expect(opened).toEqual([{ place: 3 }]);
  expect(batches).toMatchObject([
    { items: [1, 2], cursor: { last: 3, inner: { first: 4, inner: { place: 4 } } } },
  ]);
});

it('throughSteps closes its input before it delivers the last items of a finished operator', async () => {
  const steps = [taking('take', 3, [])];
  const events: unknown[] = [];
  const all = throughSteps(steps, run(), async function* () {
    try {
      for (let n = 0; ; n += 2) yield { items: [n, n + 1] };
    } finally {
      events.push('closed');
    }
  });
  for await (const { items } of all) events.push(items);
  expect(events).toEqual([[0, 1], 'closed', [2]]);
});

it('throughSteps does not open its input if an operator is finished from the start', async () => {
  const steps = [taking('take', 3, [])];
  const all = throughSteps(steps, run({ take: 3, inner: {} }), () => {
    throw new Error('It was opened');
  });
  for await (const _ of all) throw new Error('It had items');
});
