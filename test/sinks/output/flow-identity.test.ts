import { readFile, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { localFiles } from '../../../src/archive/local-files.js';
import { openTombstones } from '../../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../../src/compliance/without-deleted.js';
import { StorageError } from '../../../src/errors.js';
import { Flow, identityOf, type Operator, operator } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { account } from '../../../src/http/account.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { filter } from '../../../src/operators/filter.js';
import { gunzip } from '../../../src/operators/gunzip.js';
import { map } from '../../../src/operators/map.js';
import { matchRules } from '../../../src/operators/match-rules.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import { take } from '../../../src/operators/take.js';
import { tap } from '../../../src/operators/tap.js';
import { search } from '../../../src/search/search.js';
import { files } from '../../../src/sinks/files.js';
import { temporaryFolders } from '../temporary-folder.js';

const temporaryFolder = temporaryFolders();

/** A source with an identity like that of `search`, with a cursor for each item. */
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

describe('a checkpoint belongs to one flow', () => {
  it('a complete checkpoint is not valid for another query', async () => {
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

  it('an interrupted run is not resumed for another query', async () => {
    const out = await temporaryFolder();
    await expect(pipeline(words('snow', { failAfter: 2 }), sinkIn(out))).rejects.toThrow();
    const before = await readFile(`${out}/x.jsonl.part`, 'utf8');
    await expect(pipeline(words('rain'), sinkIn(out))).rejects.toThrow(/another flow/);
    expect(await readFile(`${out}/x.jsonl.part`, 'utf8')).toBe(before);
    expect(await pipeline(words('snow'), sinkIn(out))).toMatchObject({ posts: 4 });
  });

  const same = <T>(): Operator<T, T> => tap(() => {});
  it.each<[string, Operator<string, string>, Operator<string, string>, RegExp]>([
    ['an operator more', same(), byItem(), /dedupe\(\) was not in it/],
    ['an operator less', byItem(), same(), /dedupe\(\) was in it, and is not now/],
    ['another operator', byItem(), take(3), /dedupe\(\) is now take\(\)/],
    ['another option', byItem(10), byItem(20), /`window` of dedupe\(\) was 10 and is now 20/],
    ['another count', take(2), take(3), /`count` of take\(\) was 2 and is now 3/],
    ['a filter', same(), filter(() => true), /filter\(\) was not in it/],
  ])('%s is refused', async (_, before, now, message) => {
    const out = await temporaryFolder();
    await pipeline(words('snow'), before, sinkIn(out));
    await expect(pipeline(words('snow'), now, sinkIn(out))).rejects.toThrow(message);
  });

  it('the functions of map, filter and tap may change', async () => {
    const out = await temporaryFolder();
    const run = (failAfter: number, mark: string) =>
      pipeline(
        words('snow', { failAfter }),
        filter(item => item.length > mark.length),
        map(item => item + mark),
        sinkIn(out),
      );
    await expect(run(2, '?')).rejects.toThrow('interrupted');
    await run(9, '!');
    expect(await readFile(`${out}/x.jsonl`, 'utf8')).toBe(
      '"snow 0?"\n"snow 1?"\n"snow 2!"\n"snow 3!"\n',
    );
  });

  it('a complete checkpoint is refused with the name of a deleted output', async () => {
    const out = await temporaryFolder();
    await pipeline(words('snow'), sinkIn(out));
    await rm(`${out}/x.jsonl`);
    const again = pipeline(words('snow'), sinkIn(out));
    await expect(again).rejects.toThrow(StorageError);
    await expect(again).rejects.toThrow(/x\.jsonl is missing, and the checkpoint .*run\.json says/);
  });
});

describe('the identity of a flow', () => {
  const acme = account({
    baseUrl: 'http://localhost:1',
    account: 'acme',
    label: 'prod',
    email: 'karl@acme.example',
    password: 'hunter2',
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

  it('distinguishes other rules, however many there are', () => {
    const source = localFiles('archive');
    const ids = [
      [{ value: 'snow', tag: 'a' }],
      [{ value: 'snow', tag: 'b' }],
      [{ value: 'rain', tag: 'a' }],
    ].map(rules => JSON.stringify(identityOf(matchRules(rules)(source as never))));
    expect(new Set(ids).size).toBe(3);
  });

  it('ignores stages that only change the form of items', () => {
    expect(identityOf(gunzip()(localFiles(['a', 'b'])))).toEqual([
      { step: 'localFiles', paths: ['a', 'b'], match: expect.any(String) },
    ]);
  });

  it("includes the step of a user's operator", () => {
    const sampled = operator<string, string>(input => input, {
      step: { step: 'sampled', rate: 0.1 },
    });
    expect(identityOf(sampled(words('snow')))).toEqual([
      { step: 'words', query: 'snow' },
      { step: 'sampled', rate: 0.1 },
    ]);
  });
});
