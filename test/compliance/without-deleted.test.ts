import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import type { HidingOptions } from '../../src/compliance/hidden-posts.js';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import { Progress } from '../../src/flow/progress.js';
import { Activity } from '../../src/post/activity.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { ofPost } from './event.js';
import { ID, OTHER, original, streams } from './stored-posts.js';

let tombstones: Tombstones;

beforeEach(async () => {
  tombstones = await openTombstones(path.join(await temporaryFolder(), 'tombstones'));
});
afterEach(() => tombstones.close());

async function left(posts: readonly string[], options: HidingOptions = {}): Promise<string[]> {
  const texts: string[] = [];
  const input = (async function* () {
    for (const post of posts) yield new Activity(Buffer.from(post));
  })();
  for await (const post of withoutDeleted(tombstones, options)(input)) texts.push(String(post.raw));
  return texts;
}

describe.each([
  ['original', original, 'quoted_status'],
  ['activity_streams', streams, 'twitter_quoted_status'],
] as const)('withoutDeleted on posts of the format %s', (_, post, quoted) => {
  it('passes visible posts byte for byte, and counts the removed posts', async () => {
    await tombstones.record([ofPost('delete', ID)]);
    const kept = [post(OTHER, '1'), post('7', '2')];
    expect(await left([post(ID, '1'), ...kept])).toEqual(kept);
    const progress = new Progress();
    const input = (async function* () {
      yield new Activity(Buffer.from(post(ID, '1')));
    })();
    for await (const _ of withoutDeleted(tombstones)(input).batches({ progress }));
    expect(progress.dropped.get('deleted')).toBe(1);
  });

  it('removes a deleted quote from the post that quotes it', async () => {
    await tombstones.record([ofPost('delete', ID)]);
    const quoting = post(OTHER, '2', `,"${quoted}":${post(ID, '1')},"z":1`);
    expect(await left([quoting])).toEqual([post(OTHER, '2', `,"${quoted}":null,"z":1`)]);
    const [mask = ''] = await left([post(ID, '1')], { mask: true });
    expect(JSON.parse(mask).hidden).toBe('deleted');
  });
});

it('withoutDeleted throws an OptionError for wrong options when it is called', () => {
  for (const options of [{ country: 'Germany' }, { mask: 'yes' }, { earlierVersions: 'drop' }])
    expect(() => withoutDeleted(tombstones, unchecked(options))).toThrow(OptionError);
  expect(() => withoutDeleted(tombstones, unchecked({ contry: 'DE' }))).toThrow(
    'unknown option `contry`; did you mean `country`?',
  );
  expect(() => withoutDeleted(tombstones, unchecked(null))).toThrow(OptionError);
  expect(() => withoutDeleted(unchecked('folder'))).toThrow(OptionError);
});
