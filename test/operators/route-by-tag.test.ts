import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { map } from '../../src/operators/map.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { take } from '../../src/operators/take.js';
import { Activity } from '../../src/post/activity.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all, until } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';
import { source } from './batches.js';

describe('routeByTag', () => {
  const post = (rules: string) =>
    new Activity(Buffer.from(`{"created_at":"x","id_str":"1","matching_rules":${rules}}`));

  it('delivers an activity once per distinct tag, or once under a fixed name if it has none', async () => {
    const activities = [
      post('[{"tag":"a","id":1},{"tag":"b","id":2},{"tag":"a","id":3},{"tag":null,"id":4}]'),
      post('[{"tag":null,"id":4}]'),
      post('[]'),
      new Activity(Buffer.from('{"created_at":"x","id_str":"2"}')),
    ];
    const [first, second, third, fourth] = activities;
    expect(await all(routeByTag({ untagged: 'rest' })(source([activities])))).toEqual([
      { tag: 'a', activity: first },
      { tag: 'b', activity: first },
      { tag: 'rest', activity: second },
      { tag: 'rest', activity: third },
      { tag: 'rest', activity: fourth },
    ]);
    expect(
      await all(map((routed: { tag: string }) => routed.tag)(routeByTag()(source([[third!]])))),
    ).toEqual(['untagged']);
  });

  it('fails for a tag that equals the `untagged` name', async () => {
    const { error } = await until(routeByTag()(source([[post('[{"tag":"untagged","id":1}]')]])));
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({ message: expect.stringContaining('routeByTag({ untagged:') });
    expect(() => routeByTag({ untagged: '' })).toThrow(OptionError);
  });

  it('fails for a stored post with a tag that equals the `untagged` name', async () => {
    const folder = await temporaryFolder();
    const file = path.join(folder, 'posts.jsonl');
    await writeFile(
      file,
      '{"created_at":"x","id_str":"1","matching_rules":[{"tag":"a"},{"tag":"rest"}]}\n',
    );
    const run = pipeline(
      localFiles(file),
      jsonLines(),
      activities(),
      routeByTag({ untagged: 'rest' }),
      files({ path: path.join(folder, '{tag}.jsonl'), workers: 0 }),
    );
    await expect(run).rejects.toThrow(/A rule has the tag "rest"/);
  });

  it('accepts a tag that equals the `untagged` name if an earlier step drops the stored post', async () => {
    const folder = await temporaryFolder();
    const file = path.join(folder, 'posts.jsonl');
    const posts = ['a', 'rest'].map(
      (tag, index) =>
        `{"created_at":"x","id_str":"${index + 1}","matching_rules":[{"tag":"${tag}"}]}\n`,
    );
    await writeFile(file, posts.join(''));
    await pipeline(
      localFiles(file),
      jsonLines(),
      activities(),
      take(1),
      routeByTag({ untagged: 'rest' }),
      files({ path: path.join(folder, '{tag}.out'), workers: 0 }),
    );
    expect(await readFile(path.join(folder, 'a.out'), 'utf8')).toBe(posts[0]);
  });

  it.each<[string, (input: AsyncIterable<never>) => AsyncIterable<unknown>]>([
    ['dedupe', dedupe()],
    ['routeByTag', routeByTag()],
  ])(
    'causes a DataError before %s, which would lose tags of stored files',
    async (name, operator) => {
      const file = path.join(await temporaryFolder(), 'posts.jsonl');
      await writeFile(
        file,
        '{"created_at":"x","id_str":"1","matching_rules":[{"tag":"a"},{"tag":"b"}]}\n',
      );
      const posts = activities()(jsonLines()(localFiles([file])));
      const { error } = await until(operator(routeByTag()(posts) as AsyncIterable<never>));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({
        message: expect.stringContaining(
          `${name}() reads activities, but got an activity with a tag`,
        ),
      });
    },
  );
});
