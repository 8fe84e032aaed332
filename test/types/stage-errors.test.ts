import { describe, expect, it } from 'vitest';
import { errorsOf } from './errors-of-calls.js';

const BEFORE = `
import { createReadStream, createWriteStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import {
  account, activities, type Activity, chart, chunk, collect, committed, completeness, compliance, compose, counts, csv,
  type CountBucket, dedupe, engagement, files, filter, type Flow, gunzip, intoTombstones, jsonArray, jsonElements, jsonLines,
  localFiles, map, mapAsync, matchRules, merge, type Operator, parquet, parseComplianceEvent, pipeline, replayRules, routeByTag, search, stdout, tables,
  take, tap, tee, throttle, type Tombstones, usage, withoutDeleted, withReferenced,
} from 'millrace';
const acme = account();
declare const tombstones: Tombstones;
declare const posts: Flow<Activity>;
declare const buckets: Flow<CountBucket>;
declare const blocks: Flow<Uint8Array>;
interface Row { readonly row: number }
declare const ofRows: Operator<Row, Row>;
declare const signal: AbortSignal;
const teeOfPosts = tee(csv({ path: 'a.csv' }), collect(), async some => { for await (const { id } of some) return id; });
`;

const GIVEN = {
  'bytes of files': `localFiles('a')`,
  'inflated bytes': `compose(gunzip())(localFiles('a'))`,
  'other bytes': `blocks`,
  records: `compose(gunzip(), jsonLines())(localFiles('a'))`,
  elements: `jsonElements('results')(localFiles('a'))`,
  'parsed elements': `jsonArray('rules')(localFiles('a'))`,
  posts: `posts`,
  'posts with a tag': `routeByTag()(posts)`,
  'posts with totals': `engagement(acme)(posts)`,
  chunks: `chunk<Activity>(10)(posts)`,
  strings: `map((post: Activity) => post.text)(posts)`,
  promises: `map(async (post: Activity) => post.text)(posts)`,
  buckets: `counts(acme, { product: '30day', query: 'snow' })`,
  'compliance events': `compliance(acme)`,
  'usage rows': `usage.rows(acme)`,
  rules: `replayRules.list(acme)`,
};
type Given = keyof typeof GIVEN;

const ANY = Object.keys(GIVEN) as Given[];
const BYTES = ['bytes of files', 'inflated bytes', 'other bytes'] as const;
const RECORDS = ['records', 'elements'] as const;
const CARRIERS = ['posts', 'posts with a tag', 'posts with totals'] as const;
const without = (...names: readonly Given[]) => ANY.filter(name => !names.includes(name));

/** Stages that read flows. The value lists the types of items that the stage accepts. */
const READ: Readonly<Record<string, readonly Given[]>> = {
  'gunzip(), collect()': BYTES,
  'jsonLines(), collect()': BYTES,
  "jsonElements('results'), collect()": BYTES,
  "jsonArray('rules'), collect()": BYTES,
  'activities(), collect()': RECORDS,
  'dedupe(), collect()': ['posts'],
  'routeByTag(), collect()': ['posts'],
  "matchRules([{ value: 'snow' }]), collect()": ['posts'],
  'withReferenced(), collect()': ['posts'],
  'withoutDeleted(tombstones), collect()': ['posts'],
  'engagement(acme), collect()': ['posts'],
  'completeness(buckets)': ['posts'],
  "csv({ path: 'a.csv' })": CARRIERS,
  "csv({ path: 'a.csv', columns: ['id'] })": CARRIERS,
  "csv({ path: 'a.csv', columns: tables.posts })": CARRIERS,
  "parquet({ path: 'a.parquet' })": CARRIERS,
  "parquet({ path: 'a.parquet', columns: ['id', tables.posts.text] })": CARRIERS,
  "csv({ path: 'a.csv', columns: tables.counts })": ['buckets'],
  "csv({ path: 'a.csv', columns: tables.complianceEvents })": ['compliance events'],
  "csv({ path: 'a.csv', columns: tables.usage })": ['usage rows'],
  'chart()': ['buckets'],
  'intoTombstones(tombstones, { source: null })': ['compliance events'],
  "files({ path: 'a.jsonl' })": without('bytes of files', 'inflated bytes', 'promises'),
  'stdout()': without('bytes of files', 'inflated bytes', 'promises'),
  'collect()': ANY,
  'filter(item => item !== undefined), collect()': ANY,
  'map(item => [item]), collect()': ANY,
  'mapAsync(async item => [item]), collect()': ANY,
  'take(1), collect()': ANY,
  'tap(() => {}), chunk(2), throttle({ perSecond: 1 }), collect()': ANY,
  'tee(collect(), collect())': ANY,
};

const PAIRS = Object.keys(READ).flatMap(reader =>
  ANY.map(given => ({ reader, given, call: `pipeline(${GIVEN[given]}, ${reader})` })),
);

const WRONG: Readonly<Record<string, readonly [marked: string, says: string]>> = {
  "pipeline(localFiles('a'), gunzip(), activities(), files({ path: 'a.jsonl' }))": [
    'activities()',
    'It reads JSON records, but gets bytes: put jsonLines() before it',
  ],
  "pipeline(localFiles('a'), gunzip(), jsonLines(), dedupe(), files({ path: 'a.jsonl' }))": [
    'dedupe()',
    'It reads posts, but gets JSON records: put activities() before it',
  ],
  "pipeline(localFiles('a'), gunzip(), files({ path: 'a.jsonl' }))": [
    `files({ path: 'a.jsonl' })`,
    'It reads JSON records, but gets bytes: put jsonLines() before it',
  ],
  'pipeline(posts, routeByTag(), dedupe(), collect())': [
    'dedupe()',
    'It reads posts, but gets posts with a tag: put it before routeByTag(), or map(({ activity }) => activity) before it',
  ],
  'pipeline(posts, chunk(10), filter(some => some.length > 1), withReferenced(), collect(), { signal })':
    ['withReferenced()', 'It reads posts, but gets arrays: put it before chunk()'],
  "pipeline(buckets, csv({ path: 'a.csv', columns: tables.posts }))": [
    `csv({ path: 'a.csv', columns: tables.posts })`,
    'It reads posts, but gets buckets of counts: take them from search(), or pass columns: tables.counts',
  ],
  "pipeline(localFiles('a'), jsonLines(), intoTombstones(tombstones, { source: null }))": [
    'intoTombstones(tombstones, { source: null })',
    'It reads compliance events, but gets JSON records: put map(parseComplianceEvent) before it',
  ],
  'pipeline(posts, map(async post => post.text), stdout())': [
    'stdout()',
    'It gets promises: put mapAsync() in the place of the map() before it',
  ],
  'pipeline(posts, dedupe, collect())': ['dedupe', 'Call it: the stage is what it returns'],
  'pipeline(posts, dedupe(), collect)': ['collect', 'Call it: the stage is what it returns'],
  "pipeline(posts, dedupe, take(1), files({ path: 'a.jsonl' }))": [
    'dedupe',
    'Call it: the stage is what it returns',
  ],
  'compose(gunzip(), jsonLines, activities())': [
    'jsonLines',
    'Call it: the stage is what it returns',
  ],
  'compose(gunzip(), activities())': [
    'activities()',
    'It reads JSON records, but gets bytes: put jsonLines() before it',
  ],
  'pipeline(posts, dedupe(), take(1))': [
    'take(1)',
    'Nothing reads what it makes: put a sink after it, such as files() or collect()',
  ],
  'pipeline(posts, dedupe(), { signal })': [
    '{ signal }',
    'There is no sink: put one before the options, such as files() or collect()',
  ],
  'pipeline(posts, collect(), dedupe(), collect())': [
    'collect()',
    'A sink can only be the last stage',
  ],
  'pipeline(posts, collect(), stdout())': [
    'stdout()',
    'The argument before it is a sink: only options may follow',
  ],
  "pipeline(posts, tee(collect(), csv({ path: 'a.csv', columns: tables.counts }), collect()))": [
    `csv({ path: 'a.csv', columns: tables.counts })`,
    'It reads buckets of counts, but gets posts: take them from counts()',
  ],
  "pipeline(localFiles('a'), tee(compose(dedupe(), collect()), collect(), { checkpoint: 'c' }))": [
    'compose(dedupe(), collect())',
    'It reads posts, but gets bytes: put jsonLines(), activities() before it',
  ],
  'pipeline(posts, tee(collect(), dedupe()))': [
    'dedupe()',
    'Nothing reads what it makes: put a sink after it, such as files() or collect()',
  ],
  'pipeline(posts, tee(collect, collect()))': ['collect', 'Call it: the stage is what it returns'],
  'pipeline(buckets, teeOfPosts)': [
    'teeOfPosts',
    'It reads posts, but gets buckets of counts: take them from search()',
  ],
  'pipeline(search, collect())': ['search', 'Call it: a source is what it returns'],
  'pipeline([1, 2], collect())': [
    '[1, 2]',
    'A source is a Flow, a stream to read, or anything else with Symbol.asyncIterator: wrap items by Readable.from(items)',
  ],
};

const OF_ROWS = 'pipeline(posts, ofRows, collect())';

/** Correct calls in which one of the types is unknown. */
const RIGHT = [
  `pipeline(createReadStream('a'), jsonLines(), activities(), collect())`,
  `pipeline(localFiles('a'), createGunzip(), jsonLines(), activities(), collect())`,
  `pipeline(localFiles('a'), jsonLines(), map(parseComplianceEvent), collect())`,
  `pipeline(localFiles('a'), gunzip(), createWriteStream('a'), { signal })`,
  `pipeline(posts, chunk(10), files({ path: 'a.jsonl', line: some => String(some.length) }))`,
  `pipeline(posts, async function* (some) { for await (const { id } of some) yield id; }, async ids => { for await (const id of ids) return id; })`,
  `pipeline(posts, async some => { for await (const { id } of some) return id; }, { signal, onSummary: ({ state }) => state })`,
  `pipeline(posts, teeOfPosts)`,
  `pipeline(posts, tee(collect(), createWriteStream('a'), undefined))`,
  `pipeline(posts, tee(async some => { for await (const { id } of some) return id; }, files({ path: ({ id }) => id }), { damaged: 'a' }))`,
  `pipeline(merge(posts, posts), tee(collect(), compose(dedupe(), csv({ path: 'a.csv', columns: ['id'] }))))`,
];

describe('two consecutive stages of a pipeline', () => {
  const calls = [...PAIRS.map(({ call }) => call), ...Object.keys(WRONG), ...RIGHT, OF_ROWS];
  const errors = errorsOf(BEFORE, Object.fromEntries(calls.map(call => [call, call])));

  it('compile if the second reads the items of the first, and otherwise cause one error at the second stage', () => {
    for (const { reader, given, call } of PAIRS) {
      const found = errors.get(call)!.map(({ marked }) => marked);
      const expected = READ[reader]!.includes(given) ? [] : [expect.any(String)];
      expect(found, call).toEqual(expected);
      for (const marked of found) expect(reader, call).toContain(marked);
    }
  });

  it.each(Object.entries(WRONG))(
    'that do not fit together cause a compile error with advice: %s',
    (call, [marked, says]) => {
      expect(errors.get(call)).toEqual([
        { marked, says: expect.stringMatching(/^Argument of type .* of type '"[^\n]*"'\.$/) },
      ]);
      expect(errors.get(call)?.[0]?.says).toContain(`"${says}"`);
    },
  );

  it('written by the caller cause a compile error of one line with both types if they do not fit together', () => {
    expect(errors.get(OF_ROWS)).toEqual([
      {
        marked: 'ofRows',
        says: `Type 'Operator<Row, Row>' has no properties in common with type 'StageThatReads<Activity>'.`,
      },
    ]);
  });

  it.each(RIGHT)('such as %s compile', call => {
    expect(errors.get(call)).toEqual([]);
  });
});
