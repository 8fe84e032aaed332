import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as millrace from '../src/index.js';
import * as jetstream from '../src/jetstream/index.js';
import { LOGIN } from './login.js';
import { temporaryFolder } from './temporary-folder.js';
import { unchecked } from './unchecked.js';

// Nothing listens at this address, so a call that sends a request does not fail with an
// `OptionError`.
const url = 'http://127.0.0.1:1';
const acme = millrace.account(
  {
    baseUrl: url,
    dataUrl: url,
    retry: { attempts: 1 },
    account: 'acme',
    label: 'prod',
    ...LOGIN,
    consumerKey: 'key',
    consumerSecret: 's',
    accessToken: 'token',
    accessTokenSecret: 's',
    rulesUrl: url,
    streamLabel: 'prod',
    publisher: 'posts',
  },
  {},
);
const post = new millrace.Activity(
  Buffer.from(
    '{"created_at":"Mon Jan 01 00:00:00 +0000 2024","id":1,"id_str":"1","text":"x","user":{"id_str":"2"}}',
  ),
);
const event = millrace.parseComplianceEvent(
  Buffer.from('{"delete":{"status":{"id_str":"1"},"timestamp_ms":"1"}}'),
);
const bucket = { timePeriod: '202401010000', start: new Date(0), count: 1 };

let folder: string;
let tombstones: millrace.Tombstones;

beforeAll(async () => {
  folder = await temporaryFolder();
  tombstones = await millrace.openTombstones(path.join(folder, 'tombstones'));
});
afterAll(() => tombstones.close());

/** One item of each kind, by the name that messages use. */
const ITEMS = {
  'an activity': post,
  'an activity with a tag': { tag: 'snow', activity: post },
  'an activity with totals': { activity: post, totals: undefined, errors: [] },
  'a compliance event': event,
  'a bucket of counts': bucket,
  bytes: Buffer.from('{"id":1}'),
  'a string': '{"id":1}',
  'an object': { id: 1, id_str: '1' },
  'an object without an id': { text: 'x' },
  'an array of activities': [post],
  'an array': [1],
  'a promise': Promise.resolve(post),
  'a number': 5,
  undefined: undefined,
  null: null,
} as const;
type ItemName = keyof typeof ITEMS;

const ANY = Object.keys(ITEMS) as ItemName[];
const POSTS = ['an activity'] as const;
const CARRIERS = ['an activity', 'an activity with a tag', 'an activity with totals'] as const;

interface Stage {
  /**
   * The option that the error names if the stage is called without arguments. Undefined if such a
   * call is valid.
   */
  readonly needs?: string;
  /** Lists of wrong arguments, each with the option that the error names. */
  readonly wrong: readonly (readonly [args: readonly unknown[], option: string])[];
  /** Valid arguments. Only for operators and sinks. */
  readonly right?: () => readonly unknown[];
  /** The end of the error for an item of another kind. Only given if no operator would help. */
  readonly reads?: readonly ItemName[];
  /** The end of the error for an item of another kind. Only if no operator would help. */
  readonly refusal?: string | RegExp;
  /** Further advice in the error, in addition to an operator to insert. */
  readonly or?: string;
}

const OPTIONS = [
  [['x'], 'options'],
  [[5], 'options'],
  [[null], 'options'],
] as const;
const ACCOUNT = [
  [[5], 'account'],
  [[null], 'account'],
  [[{}], 'account'],
] as const;
const FUNCTION = (option: string) =>
  [
    [['x'], option],
    [[null], option],
    [[{}], option],
  ] as const;
const file = (name: string) => () => [{ path: path.join(folder, name) }];

const calls = { load() {}, write() {}, save() {} };

type Stages = Readonly<Record<string, Stage>>;

const SOURCES: Stages = {
  compliance: { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
  concat: {
    needs: 'source',
    wrong: [
      [[5], 'source'],
      [[[post]], 'source'],
      [[null], 'source'],
    ],
  },
  counts: { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
  fromJetStream: { needs: 'options', wrong: OPTIONS },
  jobFiles: { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'job']] },
  localFiles: {
    needs: 'paths',
    wrong: [
      [[5], 'paths'],
      [[['x', 5]], 'paths'],
      [['x', 5], 'options'],
    ],
  },
  merge: {
    needs: 'source',
    wrong: [
      [[5], 'source'],
      [[[post]], 'source'],
      [[null], 'source'],
    ],
  },
  replay: { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
  'replayRules.list': { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
  search: { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
  'usage.rows': { needs: 'account', wrong: [...ACCOUNT, [[acme, 5], 'options']] },
};

const OPERATORS: Stages = {
  activities: { wrong: OPTIONS, right: () => [], reads: ['bytes'] },
  chunk: {
    needs: 'count',
    wrong: [
      [['x'], 'count'],
      [[0], 'count'],
      [[5, 5], 'options'],
    ],
    right: () => [1],
    reads: ANY,
  },
  compose: {
    needs: 'stage',
    wrong: [
      [[5], 'sink'],
      [['x', millrace.take(1)], 'stage'],
    ],
    right: () => [millrace.take(9)],
    reads: ANY,
  },
  dedupe: { wrong: OPTIONS, right: () => [], reads: POSTS, or: 'give `key`' },
  engagement: {
    needs: 'account',
    wrong: [...ACCOUNT, [[acme, 5], 'options']],
    right: () => [acme],
    reads: POSTS,
  },
  filter: {
    needs: 'test',
    wrong: [...FUNCTION('test'), [[() => true, 5], 'options']],
    right: () => [() => true],
    reads: ANY,
  },
  gunzip: { wrong: OPTIONS, right: () => [{ plain: 'pass' }], reads: ['bytes'] },
  jsonArray: {
    wrong: [...FUNCTION('path').slice(1), [[['a', 5]], 'path'], [['a', 5], 'options']],
    right: () => ['id'],
    reads: ['bytes'],
  },
  jsonElements: {
    needs: 'key',
    wrong: [...FUNCTION('key').slice(1), [['a', 5], 'options']],
    right: () => ['id'],
    reads: ['bytes'],
  },
  jsonLines: { wrong: OPTIONS, right: () => [], reads: ['bytes'] },
  map: {
    needs: 'transform',
    wrong: FUNCTION('transform'),
    right: () => [(item: unknown) => [item]],
    reads: ANY,
  },
  mapAsync: {
    needs: 'transform',
    wrong: [...FUNCTION('transform'), [[async () => 1, 5], 'options']],
    right: () => [async (item: unknown) => [item]],
    reads: ANY,
  },
  matchRules: {
    needs: 'rules',
    wrong: [
      [['x'], 'rules'],
      [[{}], 'rules'],
      [[['coffee']], 'rules'],
      [[[], 5], 'options'],
    ],
    right: () => [[{ value: 'snow' }]],
    reads: POSTS,
  },
  operator: { needs: 'run', wrong: [...FUNCTION('run'), [[() => [], 5], 'options']] },
  perBatch: {
    needs: 'transform',
    wrong: [...FUNCTION('transform'), [[() => [], 5], 'options']],
    right: () => [(items: readonly unknown[]) => items],
    reads: ANY,
  },
  routeByTag: { wrong: OPTIONS, right: () => [], reads: POSTS },
  sample: {
    needs: 'options',
    wrong: [...OPTIONS, [[{}], 'ratio'], [[{ ratio: 2 }], 'ratio']],
    right: () => [{ ratio: 1 }],
    reads: POSTS,
  },
  take: {
    needs: 'count',
    wrong: [
      [['x'], 'count'],
      [[-1], 'count'],
      [[null], 'count'],
    ],
    right: () => [9],
    reads: ANY,
  },
  tap: { needs: 'look', wrong: FUNCTION('look'), right: () => [() => {}], reads: ANY },
  throttle: {
    needs: 'options',
    wrong: [...OPTIONS, [[{}], 'perSecond']],
    right: () => [{ perSecond: 1000 }],
    reads: ANY,
  },
  through: {
    needs: 'stream',
    wrong: [
      [['x'], 'stream'],
      [[null], 'stream'],
      [[() => {}], 'stream'],
    ],
    right: () => [new PassThrough({ objectMode: true })],
    // `null` would end a Node stream.
    reads: ANY.filter(name => name !== 'null'),
    refusal: 'A Node stream does not accept null',
  },
  withReferenced: { wrong: OPTIONS, right: () => [], reads: POSTS },
  withoutDeleted: {
    needs: 'tombstones',
    wrong: [
      [['x'], 'tombstones'],
      [[{}], 'tombstones'],
    ],
    right: () => [tombstones],
    reads: POSTS,
  },
};

const SINKS: Stages = {
  chart: {
    wrong: OPTIONS,
    right: () => [{ stream: new PassThrough() }],
    reads: ['a bucket of counts'],
  },
  collect: { wrong: [], right: () => [], reads: ANY },
  committed: {
    needs: 'options',
    wrong: [
      ...OPTIONS,
      [[{ load: 5, write: 5, save: 5 }], 'load'],
      [[{ ...calls, rows: 0 }], 'rows'],
      [[{ ...calls, encode: 'csv' }], 'encode'],
      [[{ ...calls, workers: 2 }], 'workers'],
    ],
    right: () => [calls],
    reads: ANY,
  },
  completeness: {
    needs: 'counts',
    wrong: [
      [[5], 'counts'],
      [[[bucket]], 'counts'],
    ],
    right: () => [flowOf(bucket)],
    reads: POSTS,
  },
  csv: {
    needs: 'options',
    wrong: [...OPTIONS, [[{}], 'path']],
    right: file('rows.csv'),
    reads: CARRIERS,
    or: 'pass `columns',
  },
  files: {
    needs: 'options',
    wrong: [
      ...OPTIONS,
      [[{}], 'path'],
      [[{ path: 'x', onFile: 5 }], 'onFile'],
      [[{ path: 'x', onFileError: 'skip' }], 'onFileError'],
      [[{ path: 'x', onFileConcurrency: 0 }], 'onFileConcurrency'],
    ],
    right: file('{day}.jsonl'),
    reads: CARRIERS.slice(0, 2),
    or: 'pass a function as `path`',
  },
  intoTombstones: {
    needs: 'tombstones',
    wrong: [
      [[5], 'tombstones'],
      [[{}], 'tombstones'],
    ],
    right: () => [tombstones, { source: null }],
    reads: ['a compliance event'],
  },
  parquet: {
    needs: 'options',
    wrong: [...OPTIONS, [[{}], 'path']],
    right: file('rows.parquet'),
    reads: CARRIERS,
    or: 'pass `columns',
  },
  stdout: {
    wrong: OPTIONS,
    right: () => [{ stream: new PassThrough() }],
    reads: ANY.filter(name => !['undefined', 'a promise', 'an array of activities'].includes(name)),
    refusal: /Cannot write undefined as a line|but got an? .*, or pass `line`/,
  },
  tee: {
    wrong: [
      [[5], 'sink'],
      [[null], 'sink'],
    ],
    needs: 'sink',
    right: () => [millrace.collect()],
    reads: ANY,
  },
  // The items of `toJetStream` are tested with a server, in test/jetstream/to-jet-stream.test.ts.
  toJetStream: { needs: 'options', wrong: OPTIONS },
};

const STAGES: Stages = { ...SOURCES, ...OPERATORS, ...SINKS };

/** Exports that are not stages: plain calls and tables. */
const OTHERS = new Set([
  ...['account', 'applyCompliance', 'openTombstones', 'parseComplianceEvent', 'parseExact'],
  ...['parseInStreamMessage', 'pipeline', 'preview', 'rules.operators', 'safeName'],
  ...['accept', 'countDays', 'create', 'download', 'find', 'get', 'list', 'reject', 'results'].map(
    name => `jobs.${name}`,
  ),
  ...['jobs.resultsCsv', 'jobs.run', 'jobs.verdict'],
  ...['add', 'delete', 'get', 'renderChanges', 'sync', 'validate'].map(
    name => `replayRules.${name}`,
  ),
  ...[
    'applySuggestions',
    'check',
    'compile',
    'compileAll',
    'explain',
    'pack',
    'parse',
    'print',
  ].map(name => `rules.${name}`),
  ...['rules.renderExplanation', 'rules.renderProblem'],
  ...['complianceEvents', 'counts', 'engagement', 'posts', 'toCsv', 'toRow', 'usage', 'users'].map(
    name => `tables.${name}`,
  ),
  ...['usage.chart', 'usage.report', 'usage.table'],
  ...['accessToken', 'engagementTotals', 'requestToken', 'signIn', 'signInAddress'].map(
    name => `users.${name}`,
  ),
]);

type Call = (...args: readonly unknown[]) => unknown;

function exportsOf(module: object, prefix = ''): [name: string, value: unknown][] {
  return Object.entries(module).flatMap(([name, value]: [string, unknown]) => {
    if (/^[A-Z]/.test(name)) return [];
    const isNamespace = Object(value)[Symbol.toStringTag] === 'Module';
    return isNamespace ? exportsOf(value as object, `${name}.`) : [[prefix + name, value]];
  });
}

const EXPORTS = new Map([...exportsOf(millrace), ...exportsOf(jetstream)]);
const callNamed = (name: string) => EXPORTS.get(name) as Call;

function flowOf(...items: readonly unknown[]): millrace.Flow<unknown> {
  return new millrace.Flow<unknown>(async function* () {
    yield { items, origin: 'a.jsonl' };
  });
}

/** Matches raw messages of JavaScript, and strings that no person would write. */
const UNREADABLE =
  /is not (a function|iterable|defined)|Cannot (use '|read prop)|Invalid array|\ba object|\ba (\.|,|undefined|null)|\[object|argument must be of type/;

async function outcomeOf(name: string, item: unknown): Promise<unknown> {
  const stage = callNamed(name)(...(STAGES[name]?.right?.() ?? []));
  const source = flowOf(item, item);
  const run =
    name in SINKS
      ? millrace.pipeline(source, stage as millrace.Sink<unknown, unknown>)
      : millrace.pipeline(source, stage as millrace.Operator<unknown, unknown>, millrace.collect());
  return await run.catch((error: unknown) => error);
}

function shown(argument: unknown): string {
  if (argument === acme) return 'an account';
  return typeof argument === 'function' ? 'a function' : JSON.stringify(argument);
}

function thrownBy(call: () => unknown): unknown {
  try {
    return call() ?? 'nothing';
  } catch (error) {
    return error;
  }
}

describe('rules that are strings', () => {
  const calls: [string, (rules: never) => unknown][] = [
    ['matchRules', rules => millrace.matchRules(rules)],
    ['rules.compileAll', rules => millrace.rules.compileAll(rules)],
    ['rules.pack', rules => millrace.rules.pack(rules)],
    ['search', rules => millrace.search(acme, { rules, product: '30day' })],
    ['replayRules.add', rules => millrace.replayRules.add(acme, rules)],
    ['replayRules.delete', rules => millrace.replayRules.delete(acme, rules)],
    ['replayRules.validate', rules => millrace.replayRules.validate(acme, rules)],
    ['replayRules.sync', rules => millrace.replayRules.sync(acme, rules)],
    [
      'jobs.create',
      rules =>
        millrace.jobs.create(acme, {
          title: 'x',
          fromDate: '2024-01-01',
          toDate: '2024-01-02',
          dataFormat: 'original',
          rules,
        }),
    ],
  ];

  it.each(calls)(
    "cause an error in %s that shows the correct form: { value: 'coffee' }",
    async (_, call) => {
      for (const [rules, written] of [
        [['coffee'], "{ value: 'coffee' } instead of 'coffee'"],
        [[{ value: 'tea' }, "it's"], '{ value: "it\'s" } instead of "it\'s"'],
        ['coffee', "{ value: 'coffee' } instead of 'coffee'"],
      ]) {
        const error = await (async () => await call(unchecked(rules)))().catch(thrown => thrown);
        expect(error).toBeInstanceOf(millrace.OptionError);
        expect((error as Error).message).toContain(written);
      }
    },
  );
});

describe('a wrong call', () => {
  /** These calls are valid without arguments: they use the environment or all columns. */
  const needNone = new Set(['account', 'tables.toCsv', 'tables.toRow']);
  const plain = [...OTHERS].filter(
    name => typeof EXPORTS.get(name) === 'function' && !needNone.has(name),
  );
  const wrong = [[], [null], [5], [{}], [acme], [acme, 5]] as const;

  it.each(
    plain.flatMap(name =>
      wrong.map(args => [name, args.map(shown).join(', ') || 'none', args] as const),
    ),
  )('of %s with the arguments (%s) fails with a typed error', async (name, _, args) => {
    const call = async () => await callNamed(name)(...args);
    const error = await call().then(
      () => 'nothing',
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(millrace.MillraceError);
    expect((error as Error).message).not.toMatch(UNREADABLE);
    expect((error as Error).message.length).toBeGreaterThan(30);
  });

  const oneWrong = [
    ['rules.explain', 'activity', ['snow']],
    ['rules.explain', 'activity', ['snow', { id: '1' }]],
    ['rules.applySuggestions', 'problems', ['snow', ['a problem']]],
    ['rules.renderProblem', 'problem', ['snow', {}]],
    ['rules.print', 'tree', [millrace.rules.parse('snow')]],
    ['rules.compile', 'tree', [millrace.rules.parse('snow')]],
    ['safeName', 'maxBytes', ['snow', 1]],
    ['usage.table', 'report', [Promise.resolve({})]],
    ['users.signInAddress', 'token', [acme, 'token']],
  ] as const;
  it.each(
    oneWrong.map(
      ([name, option, args]) => [name, args.map(shown).join(', '), option, args] as const,
    ),
  )('of %s with the arguments (%s) names the wrong argument `%s`', (name, _, option, args) => {
    const error = thrownBy(() => callNamed(name)(...args));
    expect(error).toBeInstanceOf(millrace.OptionError);
    expect((error as millrace.OptionError).option).toBe(option);
  });
});

it('every exported function is listed in wrong-calls.test.ts, except classes', () => {
  const listed = [...Object.keys(STAGES), ...OTHERS];
  expect(listed.toSorted()).toEqual([...EXPORTS.keys()].sort());
});

describe('the pipeline stage', () => {
  const calls = Object.entries(STAGES).flatMap(([name, { needs, wrong }]) => {
    const none: Stage['wrong'] = needs === undefined ? [] : [[[], needs]];
    return [...none, ...wrong].map(
      ([args, option]) => [name, args.map(shown).join(', ') || 'none', option, args] as const,
    );
  });
  const cells = Object.entries(STAGES).flatMap(([name, stage]) =>
    stage.reads === undefined ? [] : ANY.map(item => [name, item, stage] as const),
  );
  const refusals = cells.filter(([, item, { reads }]) => reads?.includes(item) === false);
  const readings = cells.filter(([, item, { reads }]) => reads?.includes(item) === true);

  it.each(calls)(
    '`%s` called with the arguments (%s) throws an error immediately that names `%s`',
    (name, _, option, args) => {
      const error = thrownBy(() => callNamed(name)(...args)) as millrace.OptionError;
      expect(error).toBeInstanceOf(millrace.OptionError);
      expect(error.option).toBe(option);
      expect(error.message).not.toMatch(UNREADABLE);
      expect(error.message.length).toBeGreaterThan(30);
    },
  );

  it.each(Object.entries(STAGES).filter(([, { needs }]) => needs === undefined))(
    '`%s()` needs no arguments',
    name => {
      expect(callNamed(name)()).toBeTypeOf('function');
    },
  );

  it.each(refusals)(
    '`%s` fails with advice if an item is %s',
    async (name, item, { or, refusal }) => {
      const error = await outcomeOf(name, ITEMS[item]);
      expect(error).toBeInstanceOf(millrace.DataError);
      const { message, position } = error as millrace.DataError;
      expect(message).not.toMatch(UNREADABLE);
      expect(message).toMatch(/\. [A-Z].{20}/);
      if (refusal !== undefined) {
        expect(message).toMatch(refusal);
        return;
      }
      expect(message).toContain(`, but got ${item} (in a.jsonl). `);
      expect(position.origin).toBe('a.jsonl');
      if (or !== undefined) expect(message.toLowerCase()).toContain(or);
    },
  );

  it.each(readings)('`%s` accepts items of this type: %s', async (name, item) => {
    const outcome = await outcomeOf(name, ITEMS[item]);
    // An item may be refused because of its content, and no service is running, so some calls fail.
    if (outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(millrace.MillraceError);
      expect(outcome.message).not.toMatch(UNREADABLE);
      expect(outcome.message).not.toContain(`, but got ${item}`);
    }
  });
});
