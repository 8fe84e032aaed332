import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow, operator, perBatch } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { Activity } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';

const call = pipeline as (...args: unknown[]) => Promise<unknown>;

function source(): { readonly flow: Flow<string>; readonly state: { opened: number } } {
  const state = { opened: 0 };
  const flow = new Flow<string>(async function* () {
    state.opened++;
    yield { items: ['a'] };
  });
  return { flow, state };
}

/** Checks that `pipeline()` rejects the arguments before it reads any input. */
async function refused(
  option: string,
  args: (flow: Flow<string>) => readonly unknown[],
  ...texts: readonly string[]
): Promise<void> {
  const { flow, state } = source();
  const error = await call(...args(flow)).then(
    result => expect.unreachable(`resolved to ${String(result)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OptionError);
  expect((error as OptionError).option).toBe(option);
  for (const text of texts) expect((error as OptionError).message).toContain(text);
  expect(state.opened).toBe(0);
}

const same = () => perBatch<unknown, unknown>(items => items);

describe('the arguments of pipeline()', () => {
  it('cause an OptionError if the last one is an operator instead of a sink', async () => {
    await refused('sink', flow => [flow, same()], 'argument 2', 'operator', '`collect()`');
    await refused('sink', flow => [flow, same(), dedupe()], 'argument 3', 'operator');
    await refused('sink', flow => [flow, same(), undefined], 'argument 2', 'operator');
  });

  it('cause an OptionError if no sink comes last', async () => {
    await refused('sink', flow => [flow], 'has no sink', '`files(...)`');
    await refused('sink', flow => [flow, {}], 'has no sink');
    await refused('sink', flow => [flow, undefined], 'argument 2', 'undefined');
    await refused('sink', flow => [flow, { progress: 'off' }], 'has no sink');
    await refused('source', () => [], 'argument 1', 'undefined');
  });

  it.each([
    ['an unknown string', 'loud'],
    ['an array', ['off']],
    ['an object without a prototype', Object.create(null)],
  ])('cause an OptionError if `progress` is %s', async (_what, progress) => {
    await refused(
      'progress',
      flow => [flow, collect(), { progress }],
      "'lines', 'json', 'off' or a function",
    );
  });

  it('cause an OptionError if a sink function is passed without being called', async () => {
    await refused(
      'sink',
      flow => [flow, collect],
      'argument 2',
      '`collect`',
      'call it',
      '`collect()`',
    );
    await refused('sink', flow => [flow, files], '`files(...)`', '`path`');
  });

  it('cause an OptionError if an operator function is passed without being called', async () => {
    await refused('stage', flow => [flow, dedupe, collect()], 'argument 2', '`dedupe`', 'call it');
    await refused('stage', flow => [flow, same(), same, collect()], 'argument 3', '`same()`');
  });

  it('cause an OptionError if a source function is passed without being called', async () => {
    await refused('source', () => [source, collect()], 'argument 1', '`source(...)`');
  });

  it('cause an OptionError with advice if the source is a generator function that was not called', async () => {
    function* ids() {
      yield 'a';
    }
    async function* lines() {
      yield 'a';
    }
    const generator = 'the generator function';
    await refused(
      'source',
      () => [ids, collect()],
      `${generator} \`ids\``,
      '`Readable.from(ids(...))`',
    );
    await refused(
      'source',
      () => [ids(), collect()],
      'got a Generator. Wrap it',
      '`Readable.from(items)`',
    );
    await refused(
      'source',
      () => [lines, collect()],
      `${generator} \`lines\``,
      'Call it: `lines(...)`',
    );
    await refused(
      'source',
      () => [
        async function* () {
          yield 1;
        },
        collect(),
      ],
      'a generator function. Call it',
    );
  });

  it('are named with the right article, a or an, in errors', async () => {
    await refused('sink', flow => [flow, new Activity(Buffer.from('{}'))], 'got an Activity');
    await refused('sink', flow => [flow, new Uint8Array(1)], 'got a Uint8Array');
  });

  it('cause an OptionError if a web stream is locked or does not fit its position', async () => {
    await refused('stage', flow => [flow, new ReadableStream(), collect()], 'It is a source');
    await refused('stage', flow => [flow, new WritableStream(), collect()], 'only be the last');
    await refused(
      'sink',
      flow => [flow, new TransformStream()],
      'Nothing would read what it makes',
    );
    const locked = new TransformStream();
    locked.writable.getWriter();
    await refused('stage', flow => [flow, locked, collect()], 'argument 2', 'The stream is locked');
    await refused('sink', flow => [flow, locked.writable], 'argument 2', 'The stream is locked');
    const { readable } = new TransformStream();
    readable.getReader();
    await refused('source', () => [readable, collect()], 'argument 1', 'The stream is locked');
  });

  it('cause an OptionError with advice if the source is an array or a string', async () => {
    await refused('source', () => [['a'], collect()], 'an array', '`Readable.from(items)`');
    await refused('source', () => [new Set(['a']), collect()], 'a Set', '`Readable.from(items)`');
    await refused('source', () => ['a', collect()], 'argument 1', 'got a');
  });

  it('cause an OptionError if a sink, a source or a Writable is among the stages', async () => {
    await refused('stage', flow => [flow, collect(), collect()], 'argument 2', 'Only the last');
    await refused('stage', flow => [flow, Readable.from([]), collect()], 'argument 2', 'first');
    await refused('stage', flow => [flow, new Writable(), collect()], 'argument 2', 'the last');
    await refused('stage', flow => [flow, { progress: 'off' }, collect()], 'options last');
    await refused('stage', flow => [flow, 5, collect()], 'argument 2', 'got 5');
  });

  it('cause an OptionError if a function among them returns neither a flow nor a promise', async () => {
    await refused('stage', flow => [flow, () => 5, collect()], 'An operator returns', 'returned 5');
    await refused('sink', flow => [flow, () => undefined], 'A sink returns a promise');
  });

  it('may end with undefined instead of options', async () => {
    expect(await call(source().flow, collect(), undefined)).toEqual(['a']);
  });

  it('do not change an error that an operator throws', async () => {
    const broken = () => {
      throw new TypeError('broken');
    };
    await expect(call(source().flow, broken, collect())).rejects.toThrow(new TypeError('broken'));
  });

  it('are opened again when an operator reopens its input', async () => {
    const { flow, state } = source();
    const twice = operator<string, string>(async function* (input, _run, open) {
      yield* input;
      yield* open(undefined);
    });
    expect(await pipeline(flow, twice, collect())).toEqual(['a', 'a']);
    expect(state.opened).toBe(2);
  });
});
