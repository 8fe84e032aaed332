import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { concat } from '../../src/sources/concat.js';
import { all, blocks, texts, until } from '../json/cut.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';
import { itemsOf, newState, type Step, scripted, withCrashes } from './scripted-source.js';

const steps = fc.array(
  fc.record({
    items: fc.nat(3),
    cursor: fc.boolean(),
    wait: fc.constantFrom<Step['wait']>('none', 'tick'),
  }),
  { maxLength: 8 },
);
const NAMES = ['a', 'b', 'c', 'd'];
const three: Step[] = Array.from({ length: 3 }, () => ({ items: 1, cursor: true, wait: 'none' }));

describe('concat', () => {
  it('delivers the items of its sources in order, despite any crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(steps, { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
        async (scripts, crashes) => {
          const flow = concat(...scripts.map((script, index) => scripted(NAMES[index]!, script)));
          const expected = scripts.flatMap((script, index) => itemsOf(NAMES[index]!, script));
          expect(await withCrashes(flow, crashes)).toEqual(expected);
        },
      ),
      { numRuns: bySuite(9, 400) },
    );
  });

  it('opens a source only after the previous one is complete, and skips sources that were finished', async () => {
    const [a, b, c] = [newState(), newState(), newState()];
    const flow = concat(scripted('a', three, a), scripted('b', three, b), scripted('c', three, c));
    for await (const item of flow) {
      if (item === 'a:2') expect(b.opened).toBe(0);
      if (item === 'b:0') break;
    }
    expect([a.closed, b.closed, c.opened]).toEqual([1, 1, 0]);
    const resume = { concat: 1, inner: { step: 2 } };
    const rest = new Flow(run => flow.batches({ ...run, resume }));
    expect(await all(rest)).toEqual(['b:2', 'c:0', 'c:1', 'c:2']);
    expect(a.opened).toBe(1);
    const done = { concat: 3, inner: null };
    expect(await all(new Flow(run => flow.batches({ ...run, resume: done })))).toEqual([]);
  });

  it.each([[{ concat: 3 }], [{ concat: -1 }], [{ concat: 0.5 }], [{ merge: [] }]])(
    'rejects the cursor %j of another flow',
    async resume => {
      const flow = concat(scripted('a', three), scripted('b', three));
      const { error } = await until(new Flow(run => flow.batches({ ...run, resume })));
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/concat.* 2 .* to start again$/),
      });
    },
  );

  it('ends the last document of one source of bytes before the next source starts', async () => {
    const lines = await texts(
      jsonLines()(concat(blocks([Buffer.from('{"a":1}')]), blocks([Buffer.from('{"b":2}\n')]))),
    );
    expect(lines).toEqual(['{"a":1}', '{"b":2}']);
    const cut = jsonLines()(concat(blocks([Buffer.from('{"a":')]), blocks([Buffer.from('1}')])));
    expect((await until(cut)).error).toMatchObject({ code: 'ERR_DATA' });
  });

  it('reports one progress fraction for all sources together', async () => {
    const half = new Flow<number>(async function* ({ progress }) {
      progress!.fraction = 0.5;
      yield { items: [1], cursor: {} };
    });
    const progress = new Progress();
    const seen: (number | undefined)[] = [];
    for await (const { items } of concat(half, half).batches({ progress }))
      if (items.length > 0) seen.push(progress.fraction);
    expect(seen).toEqual([0.25, 0.75]);
    expect(progress.fraction).toBe(1);
  });

  it('throws for arguments that are not sources before it reads', () => {
    expect(() => concat()).toThrow('`concat` has no source');
    expect(() => concat(unchecked([]))).toThrow('Spread the array: `concat(...sources)`');
  });
});
