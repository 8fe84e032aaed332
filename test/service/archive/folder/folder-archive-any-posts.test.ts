import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE, SEGMENT } from '../../../../src/base/time.js';
import { Activity } from '../../../../src/post/activity.js';
import { compileRule } from '../../../../src/rules/match/compile-rule.js';
import { openFolderArchive } from '../../../../src/service/archive/folder/folder-archive.js';
import { arbitraryPost } from '../../../post/arbitrary-post.js';
import { acceptedRule } from '../../../rules/arbitrary-rule.js';
import {
  arbitraryDraft,
  IDS,
  original,
  streams,
  USERS,
  WORDS,
} from '../../../rules/match/arbitrary-matching-post.js';
import { bySuite } from '../../../suite.js';
import { temporaryFolder } from '../../../temporary-folder.js';
import { MemoryArchive } from '../../memory-archive.js';
import { ALWAYS, addFiles, archivedPost, jobFile, scanAll, shown } from '../archive-folder.js';

const START = Date.UTC(2024, 4, 1, 23, 50);

function laterBy(seconds: number, post: Activity): Activity {
  const [day, rest] = new Date(START + seconds * 1000).toUTCString().split(', ');
  const [date, month, year, time] = (rest ?? '').split(' ');
  const json = post.raw
    .toString()
    .replace('Wed Oct 10 20:19:24 +0000 2018', `${day} ${month} ${date} ${time} +0000 ${year}`)
    .replace('2018-10-10T20:19:24.000Z', new Date(START + seconds * 1000).toISOString());
  return new Activity(Buffer.from(json));
}

// Ids are unique because the archive keeps only one post per id.
const posts = fc
  .tuple(
    fc.uniqueArray(fc.tuple(fc.nat(30), arbitraryDraft()), {
      minLength: 1,
      maxLength: 30,
      selector: ([, draft]) => draft.id,
    }),
    fc.constantFrom(original, streams),
  )
  .map(([drafts, write]) => drafts.map(([quarter, draft]) => laterBy(quarter * 61, write(draft))));

const rules = acceptedRule('search', { words: WORDS, users: USERS, ids: IDS });

async function folderOf(activities: readonly Activity[]): Promise<string> {
  const folder = await temporaryFolder();
  const half = Math.ceil(activities.length / 2);
  await addFiles(folder, {
    'a.json.gz': jobFile(activities.slice(half)),
    'b.json.gz': jobFile(activities.slice(0, half)),
  });
  return folder;
}

test('the archive of a folder finds the same posts as a test of each post against the rule, without reading a post', async () => {
  await fc.assert(
    fc.asyncProperty(
      posts,
      fc.array(rules, { minLength: 8, maxLength: 8 }),
      async (activities, rules) => {
        const folder = await folderOf(activities);
        const archive = await openFolderArchive(folder);
        const truth = new MemoryArchive(activities.map(archivedPost), archive.format);
        for (const { tree } of rules) {
          const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
          const unread = { tree, matches: () => expect.fail('a post was read') };
          const { posts } = await archive.search(unread, ALWAYS, { limit: 500 });
          expect(posts.map(shown)).toEqual(truth.matches(rule, ALWAYS).map(shown));
          const window = { from: START + MINUTE, to: START + HOUR };
          const counted = await archive.counts(unread, window, SEGMENT);
          expect(counted).toEqual(await truth.counts(rule, window, SEGMENT));
        }
        await archive.close();
      },
    ),
    { numRuns: bySuite(2, 100) },
  );
});

test('the archive of a folder serves posts with any content byte for byte', async () => {
  const few = fc.uniqueArray(arbitraryPost, {
    minLength: 1,
    maxLength: 12,
    selector: ({ model }) => model.id,
  });
  await fc.assert(
    fc.asyncProperty(few, async arbitrary => {
      // The lines of a job file contain no line feeds, although JSON allows them.
      const activities = arbitrary
        .filter(({ json }) => !json.includes('\n') && !json.includes('\r'))
        .map(({ bytes }) => new Activity(bytes));
      const folder = await folderOf(activities);
      for (const format of ['original', 'activity_streams'] as const) {
        const expected = activities.filter(activity => activity.format === format);
        if (expected.length === 0) continue;
        const archive = await openFolderArchive(folder, { format });
        const truth = new MemoryArchive(expected.map(archivedPost), format);
        expect((await scanAll(archive)).map(shown)).toEqual(truth.posts.toReversed().map(shown));
        await archive.close();
      }
    }),
    { numRuns: bySuite(2, 100) },
  );
});
