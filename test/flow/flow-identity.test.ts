import { readFile, rm, writeFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { compliance } from '../../src/compliance/compliance.js';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import { Flow, identityOf, type Operator, operator } from '../../src/flow/flow.js';
import { flowDifference } from '../../src/flow/flow-identity.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type Account, account } from '../../src/http/account.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { map } from '../../src/operators/map.js';
import { matchRules } from '../../src/operators/match-rules.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { sample } from '../../src/operators/sample.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import type { Activity } from '../../src/post/activity.js';
import { replay } from '../../src/replay/replay.js';
import { listReplayRules } from '../../src/replay/rule-calls.js';
import { counts } from '../../src/search/counts.js';
import { search } from '../../src/search/search.js';
import { createService, type Service, type ServiceOptions } from '../../src/service/index.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';
import { usageRows } from '../../src/usage/usage-table.js';
import { engagement } from '../../src/users/engagement.js';
import { LOGIN } from '../login.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

function words(query: string, { failAfter }: { readonly failAfter?: number } = {}): Flow<string> {
  return new Flow<string>(
    async function* ({ resume }) {
      for (let at = Number(resume?.at ?? 0); at < 4; at++) {
        if (at === failAfter) throw new Error('interrupted');
        yield { items: [`${query} ${at}`], cursor: { at: at + 1 } };
      }
    },
    undefined,
    [{ step: 'words', query }],
  );
}

const sinkIn = (out: string) =>
  files<string>({ path: `${out}/x.jsonl`, checkpoint: `${out}/run.json`, commitIntervalMs: 0 });

const byItem = (window = 10) => dedupe<string>({ key: item => item, window });

describe('the checkpoint of a run', () => {
  it('causes a StorageError if the query has changed after a complete run', async () => {
    const out = await temporaryFolder();
    await pipeline(words('snow'), sinkIn(out));
    await expect(pipeline(words('rain'), sinkIn(out))).rejects.toMatchObject({
      code: 'ERR_STORAGE',
      path: `${out}/run.json`,
      message: expect.stringMatching(
        /belongs to another flow: `query` of words\(\) was "snow" and is now "rain"\..*delete the checkpoint/,
      ),
    });
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toContain('snow 3');
    expect(await pipeline(words('snow'), sinkIn(out))).toMatchObject({ posts: 4 });
  });

  it('causes an error if the query has changed after an interrupted run', async () => {
    const out = await temporaryFolder();
    await expect(pipeline(words('snow', { failAfter: 2 }), sinkIn(out))).rejects.toThrow();
    const before = await readFile(`${out}/x.jsonl.part`, 'utf8');
    await expect(pipeline(words('rain'), sinkIn(out))).rejects.toThrow(/another flow/);
    expect(await readFile(`${out}/x.jsonl.part`, 'utf8')).toBe(before);
    expect(await pipeline(words('snow'), sinkIn(out))).toMatchObject({ posts: 4 });
  });

  const same = <T>(): Operator<T, T> => tap(() => {});
  it.each<[string, Operator<string, string>, Operator<string, string>, RegExp]>([
    ['one more operator', same(), byItem(), /dedupe\(\) was not in it/],
    ['one operator less', byItem(), same(), /dedupe\(\) was in it, and is not now/],
    ['another operator', byItem(), take(3), /dedupe\(\) is now take\(\)/],
    ['another option', byItem(10), byItem(20), /`window` of dedupe\(\) was 10 and is now 20/],
    ['another count', take(2), take(3), /`count` of take\(\) was 2 and is now 3/],
    ['a filter', same(), filter(() => true), /filter\(\) was not in it/],
  ])('causes an error if the pipeline now has %s', async (_, before, now, message) => {
    const out = await temporaryFolder();
    await pipeline(words('snow'), before, sinkIn(out));
    await expect(pipeline(words('snow'), now, sinkIn(out))).rejects.toThrow(message);
  });

  it.each<[string, (mark: string) => Operator<string, string>, string]>([
    ['map', mark => map(item => item + mark), '"snow 0?"\n"snow 1?"\n"snow 2!"\n"snow 3!"\n'],
    [
      'filter',
      mark => filter(item => !item.includes(mark)),
      '"snow 0"\n"snow 1"\n"snow 2"\n"snow 3"\n',
    ],
    ['tap', mark => tap(item => `${item}${mark}`), '"snow 0"\n"snow 1"\n"snow 2"\n"snow 3"\n'],
  ])(
    'is accepted if only the code of the function passed to %s has changed',
    async (_, stage, expected) => {
      const out = await temporaryFolder();
      const run = (failAfter: number, mark: string) =>
        pipeline(words('snow', { failAfter }), stage(mark), sinkIn(out));
      await expect(run(2, '?')).rejects.toThrow('interrupted');
      await run(9, '!');
      expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(expected);
    },
  );

  it('causes a StorageError with the name of the output if an output was deleted', async () => {
    const out = await temporaryFolder();
    await pipeline(words('snow'), sinkIn(out));
    await rm(`${out}/x.jsonl`);
    const again = pipeline(words('snow'), sinkIn(out));
    await expect(again).rejects.toThrow(StorageError);
    await expect(again).rejects.toThrow(/x\.jsonl is missing, and the checkpoint .*run\.json says/);
  });
});

describe('the checkpoint of a run that reads from a service', () => {
  const WINDOW = { fromDate: '202401010000', toDate: '202401020000' } as const;
  const QUERY = { query: 'good OR new OR day', product: 'fullarchive', maxResults: 10 } as const;
  const started: Service[] = [];
  afterEach(async () => {
    for (const service of started.splice(0)) await service.stop();
  });

  async function local(options: ServiceOptions = {}) {
    const service = createService({ limits: 'relaxed', postsPerMinute: 0.5, ...options });
    started.push(service);
    return { service, addresses: await service.start() };
  }

  const run = (acme: Account, out: string, failAfter = Number.POSITIVE_INFINITY) => {
    let seen = 0;
    return pipeline(
      search(acme, { ...QUERY, ...WINDOW }),
      tap(() => {
        if (++seen > failAfter) throw new Error('interrupted');
      }),
      files({ path: `${out}/x.jsonl`, checkpoint: `${out}/run.json`, commitIntervalMs: 0 }),
    );
  };

  it('causes an error in a run against a local service with another seed', async () => {
    const out = await temporaryFolder();
    const [one, two] = [await local({ seed: 'one' }), await local({ seed: 'two' })];
    const { posts } = await run(account(one.addresses, {}), out);
    expect(posts).toBeGreaterThan(20);
    await expect(run(account(two.addresses, {}), out)).rejects.toThrow(
      /belongs to another flow: `service` of search\(\) was "seed=one&.*" and is now "seed=two&/,
    );
    expect(await run(account(one.addresses, {}), out)).toMatchObject({ posts });
  });

  it('causes an error in a run against another host', async () => {
    const out = await temporaryFolder();
    const at = (baseUrl: string) => {
      const names = { account: 'acme', label: 'prod', ...LOGIN };
      const source = search(account({ baseUrl, ...names }, {}), { ...QUERY, ...WINDOW });
      const posts = words('snow');
      return new Flow<string>(pull => posts.batches(pull), undefined, source.identity);
    };
    await pipeline(at('https://a.example'), sinkIn(out));
    await expect(pipeline(at('https://b.example:8443'), sinkIn(out))).rejects.toThrow(
      '`service` of search() was "a.example" and is now "b.example:8443"',
    );
    expect(await pipeline(at('https://a.example'), sinkIn(out))).toMatchObject({ posts: 4 });
  });

  it('is resumed if the same local service is restarted on another port', async () => {
    const out = await temporaryFolder();
    const whole = await temporaryFolder();
    const first = await local({ seed: 'one' });
    await run(account(first.addresses, {}), whole);
    await expect(run(account(first.addresses, {}), out, 15)).rejects.toThrow('interrupted');
    const again = await local({ seed: 'one' });
    expect(again.addresses.baseUrl).not.toBe(first.addresses.baseUrl);
    await first.service.stop();
    await run(account(again.addresses, {}), out);
    const [resumed, expected] = await Promise.all(
      [out, whole].map(folder => readFile(`${folder}/x.jsonl`, 'utf8')),
    );
    expect(resumed).toBe(expected);
  });

  it.each([
    ['a checkpoint of a complete run', undefined],
    ['a checkpoint from the middle of a run', 15],
  ])(
    'is resumed if an older version wrote it without the name of the service: %s',
    async (_, failAfter) => {
      const out = await temporaryFolder();
      const { addresses } = await local();
      const acme = account(addresses, {});
      await run(acme, out, failAfter).catch(() => {});
      const text = await readFile(`${out}/run.json`, 'utf8');
      expect(text).toContain('"service":');
      const [body] = text.replaceAll(/,"service":"[^"]*"/g, '').split('  "check"');
      const sum = crc32(`${body}`).toString(16).padStart(8, '0');
      await writeFile(`${out}/run.json`, `${body}  "check": "${sum}"\n}\n`);
      const { posts } = await run(acme, out);
      expect(posts).toBeGreaterThan(20);
      expect(new Set((await readFile(`${out}/x.jsonl`, 'utf8')).split('\n')).size).toBe(posts + 1);
    },
  );

  const settings = {
    account: 'acme',
    label: 'prod',
    streamLabel: 'prod',
    complianceLabel: 'prod',
    publisher: 'twitter',
    ...LOGIN,
    consumerKey: 'c',
    consumerSecret: 'secret',
    accessToken: 'token',
    accessTokenSecret: 'secret',
  };
  const uuid = '6e9a1c5e-7b1f-4a0e-9a55-3f8a1c9d7e21';
  it.each<[string, (acme: Account) => Flow<unknown>]>([
    ['search', acme => search(acme, QUERY)],
    ['search', acme => search(acme, { ...QUERY, ...WINDOW, shard: { index: 1, of: 2 } })],
    ['counts', acme => counts(acme, { query: 'snow', product: '30day' })],
    ['replay', acme => replay(acme, { streamType: 'rulestream', ...WINDOW })],
    ['compliance', acme => compliance(acme)],
    ['jobFiles', acme => jobFiles(acme, uuid)],
    ['replayRules', acme => listReplayRules(acme)],
    ['usageRows', acme => usageRows(acme)],
    ['engagement', acme => engagement(acme)(new Flow<Activity>(async function* () {}))],
    ['search', acme => merge(search(acme, QUERY), words('snow'))],
  ])('names the service that %s() reads from', (step, flowOf) => {
    const at = (url: string, localService?: string) =>
      flowOf(account({ url, localService, ...settings }, {})).identity;
    const a = at('https://a.example/x');
    expect(flowDifference(a, at('https://a.example/x'))).toBeUndefined();
    expect(flowDifference(a, at('https://b.example/x'))).toBe(
      `\`service\` of ${step}() was "a.example" and is now "b.example"`,
    );
    expect(flowDifference(at('http://localhost:1/x', 'one'), at('http://[::1]:2/x', 'two'))).toBe(
      `\`service\` of ${step}() was "one" and is now "two"`,
    );
    // Checkpoints of older versions have no `localService`. In these, a local address stands for
    // any local service.
    const older = at('http://localhost:1/x');
    expect(JSON.stringify(older)).not.toContain('service');
    expect(flowDifference(older, at('http://localhost:2/x'))).toBeUndefined();
    expect(flowDifference(older, a)).toBeUndefined();
    expect(flowDifference(a, older)).toContain('`service`');
    // An environment variable that is still set does not affect the identity of a remote service.
    expect(at('https://a.example/x', 'one')).toEqual(a);
  });
});

describe('the identity of a flow in its checkpoint', () => {
  const acme = account({
    baseUrl: 'http://localhost:1',
    account: 'acme',
    label: 'prod',
    ...LOGIN,
  });

  it('consists of its source and the stages that select items, without secrets', async () => {
    const tombstones = await openTombstones(await temporaryFolder());
    const posts = search(acme, { query: 'snow', product: '30day', limit: 20 });
    const hidden = withoutDeleted(tombstones, { country: 'de' })(posts);
    const matched = matchRules([{ value: 'snow', tag: 'a' }])(dedupe()(hidden));
    const identity = identityOf(routeByTag()(matched));
    expect(identity.map(({ step }) => step)).toEqual([
      'search',
      'withoutDeleted',
      'dedupe',
      'matchRules',
      'routeByTag',
    ]);
    expect(identity[0]).toMatchObject({
      query: 'snow',
      product: '30day',
      limit: 20,
      label: 'prod',
    });
    expect(identity[1]).toMatchObject({ country: 'DE', mask: false });
    expect(JSON.stringify(identity)).not.toMatch(/hunter2|karl@/);
    await tombstones.close();
  });

  it('differs for different rules, even with very many rules', () => {
    const source = localFiles('archive');
    const ids = [
      [{ value: 'snow', tag: 'a' }],
      [{ value: 'snow', tag: 'b' }],
      [{ value: 'rain', tag: 'a' }],
    ].map(rules => JSON.stringify(identityOf(matchRules(rules)(unchecked(source)))));
    expect(new Set(ids).size).toBe(3);
  });

  it.each<[string, readonly unknown[]]>([
    ['the count of take()', [take(1), take(2), take(Number.POSITIVE_INFINITY)]],
    ['the window of dedupe()', [dedupe(), dedupe({ window: 5 })]],
    ['the key of dedupe()', [dedupe(), dedupe({ key: String })]],
    ['the ratio of sample()', [sample({ ratio: 0.1 }), sample({ ratio: 0.2 })]],
    ['the seed of sample()', [sample({ ratio: 0.1 }), sample({ ratio: 0.1, seed: 1 })]],
    ['`untagged` of routeByTag()', [routeByTag(), routeByTag({ untagged: 'other' })]],
  ])('differs if %s differs', (_, operators) => {
    const source = new Flow<Activity>(async function* () {});
    const identities = operators.map(operator =>
      JSON.stringify(identityOf((operator as Operator<Activity, unknown>)(source))),
    );
    expect(new Set(identities).size).toBe(operators.length);
  });

  it('shows which option changed, without options derived from it', () => {
    const limited = (limit?: number) =>
      search(acme, { query: 'snow', product: '30day', limit }).identity;
    expect(flowDifference(limited(60), limited(80))).toBe(
      '`limit` of search() was 60 and is now 80',
    );
    expect(flowDifference(limited(), limited(80))).toBe(
      '`limit` of search() was not given and is now 80',
    );
  });

  it('shows which option of a merged source changed', () => {
    const joined = (query: string) =>
      merge(words('snow'), search(acme, { query, product: '30day' })).identity;
    expect(flowDifference(joined('snow'), joined('rain'))).toBe(
      '`query` of search() was "snow" and is now "rain"',
    );
    expect(
      flowDifference(merge(words('a')).identity, merge(words('a'), words('b')).identity),
    ).toMatch(/^`sources` of merge\(\) was /);
  });

  it('ignores stages that change only the form of items', () => {
    expect(identityOf(gunzip()(localFiles(['a', 'b'])))).toEqual([
      { step: 'localFiles', paths: ['a', 'b'], match: expect.any(String) },
    ]);
  });

  it("includes the identity that the caller's own operator declares", () => {
    const sampled = operator<string, string>(input => input, {
      step: { step: 'sampled', rate: 0.1 },
    });
    expect(identityOf(sampled(words('snow')))).toEqual([
      { step: 'words', query: 'snow' },
      { step: 'sampled', rate: 0.1 },
    ]);
  });
});
