import { expect, it } from 'vitest';
import { Activity } from '../../../src/activity/activity.js';
import type { Block, BlockStore } from '../../../src/service/archive/block.js';
import { BlockArchive } from '../../../src/service/archive/block-archive.js';
import { DocumentSet } from '../../../src/service/archive/document-set.js';
import { SECOND, SEGMENT } from '../../../src/time.js';

const START = Date.UTC(2024, 4, 1);

/** A block of posts at these times, newest first. */
function blockOf(times: readonly number[]): Block {
  return {
    count: times.length,
    timeAt: document => times[document] as number,
    idAt: document => String(times[document]),
    postings: () => new DocumentSet(times.length),
    load: async documents =>
      documents.map(document => new Activity(Buffer.from(`{"id_str":"${times[document]}"}`))),
  };
}

it('a scan gives a post at the first moment of ten minutes in their segment alone', async () => {
  const edge = START + SEGMENT;
  // The last post of the first segment and the first of the second are in one block.
  const blocks = [
    blockOf([edge, edge - SECOND, START]),
    blockOf([edge + SEGMENT, edge + SEGMENT - SECOND, edge + SECOND]),
  ];
  const middle = edge + SECOND;
  const ranges = [
    { from: START, to: middle },
    { from: middle, to: edge + 2 * SEGMENT },
  ];
  const store: BlockStore = {
    within: () => ranges,
    open: async range => blocks[ranges.indexOf(range)] as Block,
    close: async () => {},
  };
  const archive = new BlockArchive('original', store);
  const found: (readonly [number, readonly number[]])[] = [];
  for await (const { segment, posts } of archive.scan({ from: START, to: edge + 2 * SEGMENT }))
    found.push([segment, posts.map(({ at }) => at)]);
  expect(found).toEqual([
    [START, [START, edge - SECOND]],
    [edge, [edge, middle, edge + SEGMENT - SECOND]],
    [edge + SEGMENT, [edge + SEGMENT]],
  ]);
});
