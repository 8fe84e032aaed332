import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, expect, it, vi } from 'vitest';
import { MillraceError } from '../../src/base/errors.js';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import { Plan } from '../../src/files/plan.js';
import type { Operator, Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { ProgressCounts } from '../../src/flow/progress.js';
import { activities } from '../../src/operators/activities.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { matchRules } from '../../src/operators/match-rules.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { take } from '../../src/operators/take.js';
import type { Activity } from '../../src/post/activity.js';
import { compileRules, type Rule, RuleMatcher } from '../../src/rules/index/compile-rules.js';
import type { SharedRules } from '../../src/rules/index/shared-rules.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { parquet } from '../../src/sinks/parquet.js';
import { tee } from '../../src/sinks/tee.js';
import { localFiles } from '../../src/sources/local-files.js';
import { ofPost, scrubGeo } from '../compliance/event.js';
import { askedOfThreads } from '../files/asked-of-threads.js';
import { acceptedRule } from '../rules/arbitrary-rule.js';
import {
  arbitraryDraft,
  original,
  PLAIN,
  streams,
  VOCABULARY,
} from '../rules/match/arbitrary-matching-post.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

interface Options {
  readonly before?: readonly Operator<Activity, Activity>[];
  readonly after?: readonly Operator<Activity, Activity>[];
  readonly isRouted?: boolean;
  readonly sink?: (out: string, workers: number) => Sink<never, unknown>;
}

const COLUMNS = ['id', 'text', 'rule_tags', 'rule_ids'] as const;

const SINKS = {
  lines: (isRouted: boolean) => (out: string, workers: number) =>
    files({ path: `${out}/${isRouted ? '{tag}' : '{day}'}.jsonl`, workers }),
  gzip: (isRouted: boolean) => (out: string, workers: number) =>
    files({ path: `${out}/${isRouted ? '{tag}' : 'all'}.jsonl.gz`, workers }),
  csv: (isRouted: boolean) => (out: string, workers: number) =>
    csv({
      path: `${out}/${isRouted ? '{tag}' : '{format}'}.csv`,
      columns: isRouted ? [...COLUMNS, 'tag'] : COLUMNS,
      workers,
    }),
};

async function run(
  paths: readonly string[],
  matching: Operator<Activity, Activity>,
  workers: number,
  { before = [], after = [], isRouted = true, sink = SINKS.lines(isRouted) }: Options = {},
) {
  const out = await temporaryFolder();
  let progress: ProgressCounts | undefined;
  const posts = [...before, matching, ...after].reduce<AsyncIterable<Activity>>(
    (flow, step) => step(unchecked(flow)),
    activities()(jsonLines()(gunzip()(localFiles(paths)))),
  );
  const items = isRouted ? routeByTag()(unchecked(posts)) : posts;
  const error = await pipeline(items, unchecked<Sink<unknown, unknown>>(sink(out, workers)), {
    progress: counts => {
      progress = counts;
    },
  }).then(
    () => undefined,
    (reason: unknown) => {
      if (!(reason instanceof MillraceError)) throw reason;
      return `${reason.code}: ${reason.message.replaceAll(out, 'OUT')}`;
    },
  );
  const contents: Record<string, string> = {};
  for (const name of (await readdir(out)).toSorted()) {
    const bytes = await readFile(path.join(out, name));
    contents[name] = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
  }
  return {
    error,
    // It is not specified how much is written before an error. Therefore, the contents are not
    // compared in this case.
    contents: error === undefined ? contents : undefined,
    dropped: error === undefined ? Object.fromEntries(progress?.dropped ?? []) : undefined,
  };
}

async function store(contents: readonly Buffer[]): Promise<string[]> {
  const folder = path.join(await temporaryFolder(), 'in');
  await mkdir(folder);
  const paths = contents.map((_, index) => path.join(folder, `${index}.gz`));
  for (const [index, content] of contents.entries()) await writeFile(paths[index]!, content);
  return paths;
}

const gz = (lines: readonly (string | Buffer)[]) =>
  gzipSync(Buffer.concat(lines.map(line => Buffer.concat([Buffer.from(line), Buffer.from('\n')]))));

const raws = (posts: readonly Activity[]) => posts.map(({ raw }) => raw);

const line = fc
  .tuple(arbitraryDraft(), fc.boolean(), fc.nat(9), fc.integer({ min: 1, max: 30 }))
  .map(([draft, isOriginal, how, id]) => {
    const post = (isOriginal ? original : streams)({ ...draft, id: String(10_000 + id) });
    const old = post.withMatchingRules([{ tag: 'old', id: '5' }]).raw.toString();
    const text = post.raw.toString();
    switch (how) {
      case 0:
        return old;
      case 1:
        return old.replace(
          /\}$/,
          ',"matching_rules":[{"tag":"other"}],"gnip":{"matching_rules":[]}}',
        );
      case 2:
        return text.replace(/\}$/, ',"gnip": null }');
      case 3:
        return text.replace(/\}$/, ', "gnip" : { } }\r');
      case 5:
        return old.replace(
          /\}$/,
          ',"gnip":{"matching_rules":[{"tag":"b"}],"gnip":1},"matching_rules":1}',
        );
      case 6:
        return old.replace('matching_rules', 'matching_rule\\u0073');
      case 4:
        return old.replace(/\}$/, ',"matching_rules":[{"tag":"\\u0061","id":1}]}');
      default:
        return text;
    }
  });

const tag = fc.constantFrom(undefined, null, 'rain', 'snow', 'a/b', '天気', '"\\\n', '', '\ud800');

function arbitraryRules() {
  return fc
    .array(fc.tuple(acceptedRule('historical', VOCABULARY), tag, fc.boolean()), {
      minLength: 1,
      maxLength: 40,
    })
    .map(rules =>
      rules.map(
        ([{ text }, tag, hasId], at): Rule => ({
          value: text,
          tag,
          id: hasId ? String(9_007_199_254_740_993n + BigInt(at)) : undefined,
        }),
      ),
    );
}

describe('matchRules with a list of rules on stored files', () => {
  it('matches the same posts as compiled rules, with and without threads', async () => {
    const bad = fc.constantFrom(
      '{"info":{"message":"x"}}',
      '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":10001,"id_str":"10001"}',
      '{"id":1',
    );
    const some = fc.array(
      fc.oneof({ weight: 150, arbitrary: line }, { weight: 1, arbitrary: bad }),
      {
        maxLength: 12,
      },
    );
    const asked = askedOfThreads();
    let matched = 0;
    let unmatched = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(some, { minLength: 1, maxLength: 4 }),
        arbitraryRules(),
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom('lines' as const, 'gzip' as const, 'csv' as const),
        fc.constantFrom('none', 'dedupe', 'take'),
        async (lines, rules, dropUnmatched, isRouted, kind, first) => {
          const paths = await store(lines.map(gz));
          const steps: Record<string, () => Operator<Activity, Activity>[]> = {
            none: () => [],
            dedupe: () => [dedupe()],
            take: () => [take(9)],
          };
          const results = [];
          for (const [list, workers] of [
            [compileRules(rules), 0],
            [rules, 0],
            [rules, 2],
          ] as const)
            results.push(
              await run(paths, matchRules(unchecked(list), { dropUnmatched }), workers, {
                before: steps[first]!(),
                isRouted,
                sink: SINKS[kind](isRouted),
              }),
            );
          expect(results[1]).toEqual(results[0]);
          expect(results[2]).toEqual(results[0]);
          unmatched += results[0]!.dropped?.unmatched ?? 0;
          for (const text of Object.values(results[0]!.contents ?? {}))
            matched += text.split('9007199254740').length - 1;
        },
      ),
      { numRuns: bySuite(12, 400) },
    );
    // The property is only useful if threads have decoded files and posts have matched.
    expect(asked('decode')).toBeGreaterThan(bySuite(3, 10));
    expect(matched).toBeGreaterThan(bySuite(5, 20));
    expect(unmatched).toBeGreaterThan(bySuite(3, 10));
  });

  const POSTS = Array.from({ length: 400 }, (_, n) =>
    (n % 3 === 0 ? streams : original)({
      ...PLAIN,
      id: String(1_000 + n),
      text: `${n % 2 === 0 ? 'deep snow' : 'light rain'} number${n}`,
      place: { id: 'fd70c22040963ac7', name: 'Boulder', country: 'US', corner: [-105.3, 39.9] },
    }),
  );
  const FILES = [0, 1, 2, 3].map(part => gz(raws(POSTS.slice(part * 100, part * 100 + 100))));
  const RULES: readonly Rule[] = [
    { value: 'snow', tag: 'white', id: '1' },
    { value: 'rain number7', tag: 'seven' },
    { value: '"deep snow" OR number9', tag: 'white', id: '3' },
    { value: 'number11', id: '4' },
  ];

  it.each(['before', 'after'] as const)(
    'matches the same posts as compiled rules if posts are hidden or changed %s matchRules',
    async where => {
      const paths = await store(FILES);
      await using tombstones = await openTombstones(path.join(await temporaryFolder(), 'deleted'));
      await tombstones.record([
        ofPost('delete', '1007'),
        ofPost('delete', '1100'),
        // This event, which is about the author, removes the place. One of the rules needs the
        // place.
        scrubGeo(PLAIN.author.id, '1250'),
      ]);
      const rules = [...RULES, { value: 'place:boulder', tag: 'place' }];
      const options = { [where]: [withoutDeleted(tombstones)] };
      const asked = askedOfThreads();
      const expected = await run(paths, matchRules(compileRules(rules)), 0, options);
      expect(await run(paths, matchRules(rules), 2, options)).toEqual(expected);
      expect(expected.dropped).toEqual({ deleted: 2 });
      const inThreads = where === 'after';
      expect(asked('replace') > 0).toBe(inThreads);
      const places = expected.contents?.['place.jsonl']?.split('\n').length;
      expect(places).toBe(inThreads ? 401 - 2 : 150);
    },
  );

  it('matches the correct posts while threads re-index the rules by rarer terms', async () => {
    const words = Array.from({ length: 30 }, (_, n) => `w${n}`);
    const posts = Array.from({ length: 6_000 }, (_, n) => {
      const own = words.filter((_, at) => (n * (at + 3)) % (at + 2) === 0);
      return original({ ...PLAIN, id: String(n + 1), text: own.join(' ') }).raw;
    });
    const paths = await store(
      Array.from({ length: 60 }, (_, file) => gz(posts.slice(file * 100, file * 100 + 100))),
    );
    const rules = words.flatMap((one, at) =>
      words.slice(at + 1).map(two => ({ value: `${one} ${two}`, tag: `t${at % 5}` })),
    );
    // This frequency makes common terms rare and rare terms common.
    const frequency = (term: string) => Number(term.slice(1)) / 30;
    const expected = await run(paths, matchRules(compileRules(rules, { frequency })), 0);
    expect(await run(paths, matchRules(rules, { frequency }), 2)).toEqual(expected);
  });

  describe('in the execution plan', () => {
    const posts = activities()(jsonLines()(gunzip()(localFiles('in'))));

    it('is executed completely in threads', () => {
      expect(Plan.in(matchRules(RULES)(posts))?.isComplete).toBe(true);
    });

    it('is included only if the caller has not compiled the rules', () => {
      expect(Plan.in(matchRules(compileRules(RULES))(posts))).toBeUndefined();
    });

    it('is included only if the pipeline contains no second matchRules with a list', () => {
      expect(Plan.in(matchRules(RULES)(matchRules(RULES)(posts)))).toBeUndefined();
    });

    it('is not included after an operator that may change posts', () => {
      const routed = routeByTag()(unchecked(posts));
      expect(Plan.in(matchRules(RULES)(unchecked(routed)))).toBeUndefined();
    });

    it('is included after operators that only drop posts', () => {
      expect(Plan.in(matchRules(RULES)(take<Activity>(3)(dedupe()(posts))))).toBeDefined();
    });
  });

  it('affects all branches of a tee if it comes before the tee, and only its own branch if it is inside', async () => {
    const paths = await store(FILES);
    const branch = [{ value: 'number7', tag: 'branch' }];
    const sink = (out: string, workers: number) =>
      tee(
        compose(routeByTag(), files({ path: `${out}/{tag}.jsonl`, workers })),
        files({ path: `${out}/all.jsonl`, workers }),
        compose(
          matchRules(branch, { dropUnmatched: true }),
          files({ path: `${out}/branch.jsonl`, workers }),
        ),
      );
    const options = { isRouted: false, sink };
    const expected = await run(paths, matchRules(compileRules(RULES)), 0, options);
    expect(Object.keys(expected.contents!)).toHaveLength(5);
    expect(await run(paths, matchRules(RULES), 2, options)).toEqual(expected);
  });

  it('writes the same as compiled rules if the matching rules are far larger than the posts', async () => {
    const paths = await store(FILES);
    const rules = Array.from({ length: 300 }, (_, n) => ({
      value: 'snow',
      tag: `tag ${n % 2} ${n}`,
    }));
    const options = { isRouted: false };
    const expected = await run(paths, matchRules(compileRules(rules)), 0, options);
    expect(await run(paths, matchRules(rules), 2, options)).toEqual(expected);
  });

  it.each<[where: string, place: (post: string) => string]>([
    ['first', post => post.replace(/^\{/, '{"matching_rules":[],')],
    [
      'in the middle',
      post => post.replace(/,"text":/, ',"matching_rules":[{"tag":"old"}],"text":'),
    ],
    ['last', post => post.replace(/\}$/, ',"matching_rules":[{"tag":"old"}]}')],
    ['absent', post => post],
  ])(
    'writes the same bytes as compiled rules if the matching rules outgrow the buffer and `matching_rules` is %s',
    async (_, place) => {
      const posts = POSTS.slice(0, 40).map(({ raw }) => place(raw.toString()));
      const paths = await store([gz(posts)]);
      for (const count of [1, 20, 400]) {
        const rules = Array.from({ length: count }, (_, n) => ({ value: 'snow', tag: `tag ${n}` }));
        const options = { isRouted: false };
        const expected = await run(paths, matchRules(compileRules(rules)), 0, options);
        expect(expected.error).toBeUndefined();
        for (const workers of [0, 1])
          expect(await run(paths, matchRules(rules), workers, options)).toEqual(expected);
        const lines = Object.values(expected.contents!).flatMap(text => text.trim().split('\n'));
        const matching = lines.map(line => {
          const { matching_rules: own, gnip } = JSON.parse(line);
          return (gnip?.matching_rules ?? own).length;
        });
        expect(matching.toSorted((a, b) => a - b)).toEqual([
          ...Array(20).fill(0),
          ...Array(20).fill(count),
        ]);
      }
    },
  );

  it('writes complete lines even if a line ends near the end of the buffer', async () => {
    const rule = (length: number, n: number) => ({ value: `w${n}`, tag: 'x'.repeat(length) });
    const written = async (lengths: readonly number[]) => {
      const texts = lengths.map((_, n) =>
        original({ ...PLAIN, id: '1000', text: `snow w${n}` }).raw.toString(),
      );
      const other = original({ ...PLAIN, id: '1001', text: 'rain' }).raw.toString();
      const paths = await store(texts.map(text => gz([text, other])));
      // A tag has at most 255 characters, so several tags make up most of the line.
      const long = [...'abcdef'].map(letter => ({ value: 'snow', tag: letter.repeat(200) }));
      const rules = [...long, ...lengths.map(rule)];
      const options = { isRouted: false };
      const expected = await run(paths, matchRules(compileRules(rules)), 0, options);
      expect(await run(paths, matchRules(rules), 0, options)).toEqual(expected);
      const [text = ''] = Object.values(expected.contents!);
      return { bytes: `${texts[0]}\n${other}\n`.length, line: text.indexOf('\n') };
    };
    const { bytes, line } = await written([20]);
    // The memory for a line has space for the posts, another eighth of their size, and 512 bytes.
    // With a tag of the length `room`, a line just fits.
    const room = 20 + bytes + Math.ceil(bytes / 8) + 512 - line;
    await written([-4, -3, -2, -1, 0, 1, 2, 3].map(more => room + more));
  });

  it('continues on the main thread if a worker thread exits', async () => {
    const paths = await store([
      gz(Array.from({ length: 20 }, () => POSTS).flatMap(raws)),
      FILES[0]!,
    ]);
    // None of these rules has a rare term, so every post is compared with every rule.
    const rules = [
      ...RULES,
      ...Array.from({ length: 500 }, (_, n) => ({ value: `snow rain ${n}` })),
    ];
    const expected = await run(paths, matchRules(compileRules(rules)), 0);
    const share = vi.spyOn(RuleMatcher.prototype, 'share');
    const matching = matchRules(rules);
    const { state } = (share.mock.results[0]!.value as SharedRules).anchoring;
    share.mockRestore();
    let [isOver, ended] = [false, 0];
    process.once('worker', thread => {
      const poll = () => {
        // `state[4]` is the number of threads that are reading the first copy of the index. This
        // thread has not started to read it.
        if (Atomics.load(state, 4) === 0) {
          if (!isOver) setImmediate(poll);
          return;
        }
        ended++;
        void thread.terminate();
      };
      poll();
    });
    expect(await run(paths, matching, 1)).toEqual(expected);
    isOver = true;
    expect(ended).toBe(1);
    // The terminated thread still counts as a reader, so it had not reached the end of the file.
    expect(Atomics.load(state, 4)).toBe(1);
  });

  it('is followed by a second matchRules, whose tags replace those of the first', async () => {
    const paths = await store(FILES);
    const after = [matchRules([{ value: 'number7', tag: 'second' }])];
    const first = matchRules(RULES, { dropUnmatched: true });
    const { contents, dropped } = await run(paths, first, 2, { after });
    expect(dropped).toEqual({ unmatched: 197 });
    expect(Object.keys(contents!)).toEqual(['second.jsonl', 'untagged.jsonl']);
  });

  it('fails if a tag equals the name for posts without a tag', async () => {
    const paths = await store(FILES);
    const { error } = await run(paths, matchRules([{ value: 'snow', tag: 'untagged' }]), 2);
    expect(error).toMatch(/^ERR_DATA: .*A rule has the tag "untagged"/);
  });

  it('sets the matching rules of posts in a `for await` loop', async () => {
    const paths = await store(FILES);
    const seen: string[][] = [];
    const posts = activities()(jsonLines()(gunzip()(localFiles(paths))));
    for await (const post of matchRules(RULES, { dropUnmatched: true })(posts))
      seen.push([post.id, ...post.matchingRules.map(({ id, value }) => id ?? value!)]);
    expect(seen.length).toBe(203);
    expect(seen.find(([id]) => id === '1009')).toEqual(['1009', '3']);
    expect(seen.find(([id]) => id === '1007')).toEqual(['1007', 'rain number7']);
  });

  it('fills the Parquet columns for tags and rule ids', async () => {
    const paths = await store(FILES);
    const sink = (out: string, workers: number) =>
      parquet({ path: `${out}/{tag}.parquet`, columns: [...COLUMNS, 'tag'], workers });
    const rows: unknown[] = [];
    for (const [list, workers] of [
      [compileRules(RULES), 0],
      [RULES, 2],
    ] as const) {
      const { contents, error } = await run(paths, matchRules(unchecked(list)), workers, { sink });
      expect(error).toBeUndefined();
      const read: Record<string, unknown> = {};
      for (const [name, text] of Object.entries(contents!)) {
        const file = new Uint8Array(Buffer.from(text, 'latin1')).buffer;
        read[name] = await parquetReadObjects({ file, compressors });
      }
      expect(Object.keys(read)).toEqual(['seven.parquet', 'untagged.parquet', 'white.parquet']);
      rows.push(read);
    }
    expect(rows[1]).toEqual(rows[0]);
  });
});
