import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HidingOptions, hideDeleted } from '../../src/compliance/hidden-posts.js';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { Activity } from '../../src/post/activity.js';
import { temporaryFolder } from '../temporary-folder.js';
import { edit, ofPost, ofUser, scrubGeo } from './event.js';
import { ID, OTHER, original, PLACE, streams } from './stored-posts.js';

let tombstones: Tombstones;

beforeEach(async () => {
  tombstones = await openTombstones(path.join(await temporaryFolder(), 'tombstones'));
});
afterEach(() => tombstones.close());

function left(posts: readonly string[], options: HidingOptions = {}): string[] {
  return posts
    .map(post => hideDeleted(tombstones, new Activity(Buffer.from(post)), options).activity)
    .filter(post => post !== undefined)
    .map(({ raw }) => String(raw));
}

describe.each([
  ['original', original, 'retweeted_status', 'quoted_status'],
  ['activity_streams', streams, 'object', 'twitter_quoted_status'],
] as const)('hideDeleted on posts of the format %s', (format, post, shared, quoted) => {
  const retweet = (id: string, user: string, of: string) =>
    post(id, user, `,"${shared}":${of}`).replace('"verb":"post"', '"verb":"share"');

  it('returns the same object for a post that is not hidden', async () => {
    await tombstones.record([ofPost('delete', ID)]);
    const other = new Activity(Buffer.from(post(OTHER, '1')));
    expect(hideDeleted(tombstones, other)).toEqual({
      activity: other,
      hidden: undefined,
      changed: false,
    });
    expect(hideDeleted(tombstones, new Activity(Buffer.from(post(ID, '1'))))).toEqual({
      activity: undefined,
      hidden: 'deleted',
      changed: true,
    });
  });

  it('removes the retweets of a deleted post even without events for these retweets', async () => {
    await tombstones.record([ofPost('delete', ID)]);
    expect(left([retweet(OTHER, '2', post(ID, '1'))])).toEqual([]);
    const fine = retweet(ID.replace('8', '7'), '2', post(OTHER, '1'));
    expect(left([fine])).toEqual([fine]);
  });

  it('removes a deleted post from a post that quotes it', async () => {
    await tombstones.record([ofPost('delete', ID)]);
    const inner = post(ID, '1');
    const [text = ''] = left([post(OTHER, '2', `,"${quoted}":${inner},"z":1`)]);
    expect(text).toBe(post(OTHER, '2', `,"${quoted}":null,"z":1`));
    const nested = retweet('9', '3', post(OTHER, '2', `,"${quoted}":${inner}`));
    expect(left([nested])).toEqual([nested.replace(inner, 'null')]);
  });

  it.each([
    ['user_delete', 'user_undelete'],
    ['user_protect', 'user_unprotect'],
    ['user_suspend', 'user_unsuspend'],
  ])('removes posts after %s until %s', async (on, off) => {
    const own = post(ID, '5');
    const both = [own, retweet(OTHER, '6', own)];
    await tombstones.record([ofUser(on, '5', 10)]);
    expect(left(both)).toEqual([]);
    await tombstones.record([ofUser(off, '5', 9)]);
    expect(left(both)).toEqual([]);
    await tombstones.record([ofUser(off, '5', 11)]);
    expect(left(both)).toEqual(both);
  });

  it('removes a dropped post until it is undropped, and a deleted post permanently', async () => {
    await tombstones.record([ofPost('drop', ID, 1), ofPost('delete', OTHER, 1)]);
    expect(left([post(ID, '1'), post(OTHER, '1')])).toEqual([]);
    await tombstones.record([ofPost('undrop', ID, 2), ofPost('undrop', OTHER, 2)]);
    expect(left([post(ID, '1'), post(OTHER, '1')])).toEqual([post(ID, '1')]);
  });

  it('removes locations from posts up to the id that scrub_geo names, and keeps all other bytes', async () => {
    await tombstones.record([scrubGeo('1', ID)]);
    const [first, second, third] = left([
      post(ID, '1'),
      post(OTHER, '1'),
      retweet('99', '2', post(ID, '1')),
    ]);
    expect(first).toBe(post(ID, '1').replace(PLACE, 'null'));
    expect(second).toBe(post(OTHER, '1'));
    // Only the location of the retweeted post is removed, because the retweet is by another user.
    expect(third).toBe(retweet('99', '2', post(ID, '1').replace(PLACE, 'null')));
  });

  it('removes both the location and the quote of a post, whichever of them comes first', async () => {
    await tombstones.record([ofPost('delete', ID), scrubGeo('2', OTHER)]);
    const inner = post(ID, '1');
    const own = post(OTHER, '2');
    const before = own.replace('{', `{"${quoted}":${inner},`);
    const after = post(OTHER, '2', `,"${quoted}":${inner}`);
    const bare = own.replace(PLACE, 'null');
    expect(left([before])).toEqual([bare.replace('{', `{"${quoted}":null,`)]);
    expect(left([after])).toEqual([post(OTHER, '2', `,"${quoted}":null`).replace(PLACE, 'null')]);
  });

  it('removes posts that are withheld in the country of display, or everywhere', async () => {
    await tombstones.record([
      ofPost('status_withheld', '1', 1, { withheld_in_countries: ['de', 'TR'] }),
      ofPost('status_withheld', '2', 1, { withheld_in_countries: ['XY'] }),
      ofUser('user_withheld', '30', 1, { withheld_in_countries: ['DE'] }),
      ofUser('user_withheld', '40', 1, { withheld_in_countries: ['XX'] }),
    ]);
    const posts = [post('1', '9'), post('2', '9'), post('3', '30'), post('4', '40')];
    expect(left(posts)).toEqual([posts[0], posts[2]]);
    expect(left(posts, { country: 'de' })).toEqual([]);
    expect(left(posts, { country: 'TR' })).toEqual([posts[2]]);
    expect(left(posts, { country: 'FR' })).toEqual([posts[0], posts[2]]);
  });

  it('hides a post by the withheld_in_countries of the post or its author', () => {
    const codes = (...listed: string[]) =>
      `,"withheld_in_countries":${JSON.stringify(listed)},"withheld_scope":"status"`;
    const author = (user: string, listed: unknown) =>
      post('5', user).replace(
        /"(user|actor)":{/,
        `$&"withheld_in_countries":${JSON.stringify(listed)},`,
      );
    const [own, everywhere, copyright] = [
      post('1', '9', codes('de', 'TR')),
      post('2', '9', codes('XX')),
      post('3', '9', codes('xy')),
    ];
    const nowhere = [
      post('4', '9', ',"withheld_in_countries":[]'),
      author('8', []),
      author('8', null),
    ];
    const [byAuthor, byAuthorEverywhere] = [author('6', ['DE']), author('7', ['XX'])];
    const retweets = [own, byAuthor, everywhere].map((of, at) => retweet(`6${at}`, '9', of));
    const all = [own, everywhere, copyright, ...nowhere, byAuthor, byAuthorEverywhere, ...retweets];
    expect(left(all)).toEqual([own, ...nowhere, byAuthor, ...retweets.slice(0, 2)]);
    expect(left(all, { country: 'de' })).toEqual(nowhere);
    expect(left(all, { country: 'TR' })).toEqual([...nowhere, byAuthor, retweets[1]]);
    const quoting = post('70', '9', `,"${quoted}":${byAuthor}`);
    expect(left([quoting])).toEqual([quoting]);
    expect(left([quoting], { country: 'DE' })).toEqual([post('70', '9', `,"${quoted}":null`)]);
    const reasons = [own, byAuthor, retweets[1]!].map(
      text => hideDeleted(tombstones, new Activity(Buffer.from(text)), { country: 'DE' }).hidden,
    );
    expect(reasons).toEqual(['withheld', 'user withheld', 'user withheld']);
  });

  it('removes all earlier versions of an edited post, and every version if one is deleted', async () => {
    await tombstones.record([edit(['1', '2', '3'])]);
    const versions = ['1', '2', '3'].map(id =>
      post(id, '9', ',"edit_history":{"initial_tweet_id":"1","edit_tweet_ids":["1","2","3"]}'),
    );
    expect(left(versions)).toEqual([versions[2]]);
    expect(left(versions, { earlierVersions: 'keep' })).toEqual(versions);
    await tombstones.record([ofPost('delete', '1')]);
    expect(left(versions, { earlierVersions: 'keep' })).toEqual([]);
  });

  it('finds a hidden post even if its author is trimmed or missing, or its edit history lacks the first id', async () => {
    await tombstones.record([ofUser('user_delete', '5'), ofPost('delete', '8')]);
    const author = (user: string) =>
      format === 'original'
        ? `"user":{"id":${user},"id_str":"${user}"}`
        : `"actor":{"id":"id:twitter.com:${user}"}`;
    const written = /"(user|actor)":{[^}]*}/;
    const trimmed = (id: string, user: string) => post(id, user).replace(written, author(user));
    const without = (id: string) => post(id, '1').replace(written, '"more":1');
    const history = (id: string, ids: string) => post(id, '1', `,"edit_history":${ids}`);
    const fine = [
      trimmed('1', '2'),
      without('3'),
      history('4', '{"edit_tweet_ids":["4"]}'),
      history('4', '{"initial_tweet_id":"4"}'),
      history('4', '{}'),
    ];
    const hidden = [
      trimmed('1', '5'),
      without('8'),
      history('9', '{"edit_tweet_ids":["8","9"]}'),
      history('9', '{"initial_tweet_id":"8"}'),
      retweet('7', '2', trimmed('1', '5')),
    ];
    expect(left([...fine, ...hidden])).toEqual(fine);
    const [mask = ''] = left([without('8')], { mask: true });
    expect(new Activity(Buffer.from(mask))).toMatchObject({ id: '8', format, authorId: undefined });
    expect(left([mask], { mask: true })).toEqual([mask]);
  });

  const masked = async () => {
    await tombstones.record([ofPost('delete', ID)]);
    const rules = '[{"tag":"t","id":9007199254740993}]';
    const secret = post(ID, '1', `,"matching_rules":${rules}`).replace('"t"', '"secret"');
    const [text = ''] = left([secret], { mask: true });
    return text;
  };

  it('replaces a hidden post with a mask of its ids and the reason if `mask` is set', async () => {
    const text = await masked();
    const mask = new Activity(Buffer.from(text));
    expect(mask).toMatchObject({ id: ID, format, text: '', tags: ['t'], author: { id: '1' } });
    expect(mask.postedAt).toEqual(new Date('2018-10-10T20:19:24Z'));
    expect(JSON.parse(text).hidden).toBe('deleted');
  });

  it('copies no text of the post into its mask', async () => {
    expect(await masked()).not.toMatch(/secret|u1|Köln/);
  });

  it('leaves a mask unchanged', async () => {
    const text = await masked();
    expect(left([text], { mask: true })).toEqual([text]);
  });
});
