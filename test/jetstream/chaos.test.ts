import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { compiled } from '../compiled.js';
import { Random } from '../faults/random.js';
import { isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { comparePosts } from './bare-reader.js';
import { chaos, type Fault, type PostArchive, writeArchive } from './chaos.js';
import { hasNatsServer } from './nats-server.js';

let folder: string;
let archive: PostArchive;

beforeAll(async () => {
  folder = await temporaryFolder();
  archive = await writeArchive(path.join(folder, 'archive'), 10);
});

// These tests are a few short runs. `npm run faults -- jetstream` makes about 200 runs with all
// kinds of faults.
describe.skipIf(!hasNatsServer)('posts sent through a NATS cluster', () => {
  const runs: readonly { readonly name: string; readonly faults: readonly Fault[] }[] = [
    {
      name: 'its leader, publisher and consumers are killed',
      faults: ['leader', 'publisher', 'consumer'],
    },
    { name: 'its leader is cut off', faults: ['partition'] },
  ];
  it.concurrent.each(isNightly ? runs : runs.slice(0, 1))(
    'are all written to the files exactly once while $name',
    async ({ name, faults }) => {
      const counts = await chaos({
        faults,
        maxFaults: 1,
        random: new Random(name),
        archive,
        folder: await temporaryFolder(),
        library: new URL('src/', pathToFileURL(`${inject('compiledSources')}/`)),
        script: name => compiled(path.join(import.meta.dirname, `${name}.ts`)),
        signal: AbortSignal.timeout(240_000),
      });
      expect(counts).toMatchObject({ posts: archive.posts.size });
      expect(counts.hits).toBeGreaterThan(0);
    },
  );
});

describe('comparePosts(), which checks the output of a run,', () => {
  it('counts lost, duplicated and altered posts', () => {
    const expected = new Map([...'abc'].map(key => [key, 1]));
    const actual = new Map(Object.entries({ a: 1, b: 3, d: 1 }));
    expect(comparePosts(expected, actual)).toEqual({ lost: 1, doubled: 2, others: 1 });
    expect(comparePosts(expected, expected)).toEqual({ lost: 0, doubled: 0, others: 0 });
  });
});
