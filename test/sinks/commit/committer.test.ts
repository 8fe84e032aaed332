import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import type { CheckpointStore } from '../../../src/sinks/commit/checkpoint-file.js';
import { Committer } from '../../../src/sinks/commit/committer.js';
import type { WrittenFile } from '../../../src/sinks/commit/run-result.js';
import { files } from '../../../src/sinks/files.js';
import { temporaryFolder } from '../../temporary-folder.js';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
const at = (name: string) => path.join(folder, name);

/** Each run delivers the items that were added since the last run. */
function growing(items: readonly string[], before = async () => {}): Flow<string> {
  return new Flow(
    async function* ({ resume }) {
      const from = Number(resume?.at ?? 0);
      for (let next = from; next < items.length; next++)
        yield { items: items.slice(next, next + 1), cursor: { at: next + 1 } };
      await before();
      yield { items: [], cursor: { at: items.length } };
    },
    undefined,
    [{ step: 'growing', incremental: true }],
  );
}

/** An item that is so large that it is written before the run ends. */
const large = 'b'.repeat(4 << 20);

describe('a run that continues from a checkpoint', () => {
  it('continues to count the uncompressed bytes of a compressed file', async () => {
    const lines = Array.from({ length: 40 }, (_, number) => `${number}`.padStart(99, 'x'));
    for (const count of [4, 5, 17, 40])
      await pipeline(
        growing(lines.slice(0, count)),
        files({
          path: at('x.jsonl.gz'),
          checkpoint: at('c.json'),
          maxBytes: 1_000,
          line: text => text,
        }),
      );
    const names = (await readdir(folder)).filter(name => name.endsWith('.gz')).toSorted();
    const texts = await Promise.all(
      names.map(async name => gunzipSync(await readFile(at(name))).toString()),
    );
    expect(texts.map(text => text.length)).toEqual([1_000, 1_000, 1_000, 1_000]);
    expect(texts.join('')).toBe(lines.map(line => `${line}\n`).join(''));
  });

  it.each([
    ['adds lines to the file', ['a', large, 'c']],
    ['adds no lines to the file', ['a']],
  ])(
    'continues a file that the previous run had started to extend, calls `onFile` again, and %s',
    async (_, last) => {
      const handedOn: WrittenFile[] = [];
      const run = (source: Flow<string>) =>
        pipeline(
          source,
          files({
            path: at('x.jsonl'),
            checkpoint: at('c.json'),
            commitIntervalMs: 60_000,
            line: text => text,
            onFile(file) {
              handedOn.push(file);
              return file.posts;
            },
          }),
        );
      await run(growing(['a']));
      const broken = growing(['a', large], async () => {
        while (!existsSync(at('x.jsonl.part'))) await wait(5);
        throw new Error('the source is broken');
      });
      await expect(run(broken)).rejects.toThrow('broken');
      expect(existsSync(at('x.jsonl'))).toBe(false);
      const { files: written } = await run(growing(last));
      expect(await readFile(at('x.jsonl'), 'utf8')).toBe(`${last.join('\n')}\n`);
      expect(handedOn.map(({ posts }) => posts)).toEqual([1, last.length]);
      expect(written).toMatchObject([{ posts: last.length, handedOn: last.length }]);
      expect(existsSync(at('x.jsonl.part'))).toBe(false);
    },
  );
});

it('Committer starts the last commit only after the previous one has ended', async () => {
  const calls: string[] = [];
  const store: CheckpointStore = {
    name: 'store',
    shownName: 'store',
    paths: [],
    everyMs: undefined,
    isFull: false,
    hasNew: false,
    rows: undefined,
    read: async () => undefined,
    begin: () => calls.push('begin'),
    async replace({ state, cursor }) {
      await wait(20);
      calls.push(`${state} ${cursor}`);
    },
    close: async () => {},
  };
  const failures: unknown[] = [];
  const fail = (error: unknown) => failures.push(error);
  const committer = new Committer({ store, members: [], before: undefined, fail });
  await committer.commit({ at: 1 });
  await committer.finish('{"at":2}');
  expect(calls).toEqual(['begin', 'running {"at":1}', 'begin', 'complete {"at":2}']);
  expect(failures).toEqual([]);
});
