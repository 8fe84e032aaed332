import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { Flow, identityOf } from '../../src/flow/flow.js';
import { map } from '../../src/operators/map.js';
import { withReferenced } from '../../src/operators/with-referenced.js';
import { Activity } from '../../src/post/activity.js';
import { all } from '../json/cut.js';
import { arbitraryPost } from '../post/arbitrary-post.js';
import type { PostModel } from '../post/post-model.js';
import { bySuite } from '../suite.js';
import { source } from './batches.js';

const post = (members: object) =>
  new Activity(Buffer.from(JSON.stringify({ created_at: 'x', ...members })));
const idsOf = async (items: Activity[], only = false) =>
  all(map(({ id }: Activity) => id)(withReferenced({ only })(source([items]))));

const quoted = { created_at: 'x', id_str: '3' };
const shared = { created_at: 'x', id_str: '2', quoted_status: quoted };

describe('withReferenced', () => {
  it('delivers the retweeted and the quoted post after each post', async () => {
    const retweet = post({ id_str: '1', retweeted_status: shared });
    const quote = post({ id_str: '4', quoted_status: quoted });
    expect(await idsOf([retweet, post({ id_str: '5' }), quote])).toEqual([
      ...['1', '2', '3', '5', '4', '3'],
    ]);
  });

  it('delivers a post once if both a retweet and its original quote it', async () => {
    const retweet = post({ id_str: '1', retweeted_status: shared, quoted_status: quoted });
    expect(await idsOf([retweet])).toEqual(['1', '2', '3']);
  });

  it('delivers only the referenced posts if `only` is true', async () => {
    const retweet = post({ id_str: '1', retweeted_status: shared });
    expect(await idsOf([retweet, post({ id_str: '5' })], true)).toEqual(['2', '3']);
  });

  it('delivers the exact bytes that a referenced post has inside the post that refers to it', async () => {
    const expected = (model: PostModel) =>
      [model, model.shared, model.shared?.quoted, model.quoted]
        .filter(one => one !== undefined)
        .map(({ id, author }) => [String(id), String(author.id)] as const);
    await fc.assert(
      fc.asyncProperty(arbitraryPost, async ({ model, bytes }) => {
        const found = await all(withReferenced()(source([[new Activity(bytes)]])));
        const [first, ...others] = expected(model);
        const unique = others.filter(
          ([id], index) => others.findIndex(([other]) => other === id) === index,
        );
        expect(found.map(({ id, author }) => [id, author.id])).toEqual([first, ...unique]);
        for (const { raw } of found) expect(bytes.includes(raw)).toBe(true);
      }),
      { numRuns: bySuite(25, 100) },
    );
  });

  it('is identified in a checkpoint by its name and the option `only`', () => {
    const posts = new Flow<Activity>(async function* () {}, undefined, [{ step: 'posts' }]);
    const stepOf = (only: boolean) => identityOf(withReferenced({ only })(posts));
    expect(stepOf(true)).toEqual([{ step: 'posts' }, { step: 'withReferenced', only: true }]);
    expect(stepOf(false)).toEqual([{ step: 'posts' }, { step: 'withReferenced', only: false }]);
  });

  it('fails for an item that is not a post, with the origin of the item', async () => {
    const run = all(withReferenced()(source([[new Activity(Buffer.from('{"id_str":"1"}'))]])));
    await expect(run).rejects.toThrow(DataError);
    await expect(run).rejects.toMatchObject({ position: { origin: 'here' } });
  });
});
