import { sample } from '../../src/operators/sample.js';
import { Activity } from '../../src/post/activity.js';
import type { Row } from './covering-rows.js';
import { DELETED, EDITED, isPost, type Post, type StoredFile } from './stored-input.js';

export interface Item extends Post {
  readonly isMasked: boolean;
  readonly tag?: string;
}

export function filesRead(row: Row, files: readonly StoredFile[]): StoredFile[] {
  const isMatched = (name: string) =>
    row['localFiles.match'] === 'not given' ||
    name.endsWith('.gz') ||
    row['flow.(source)'] === 'list';
  const isOfShard = (name: string) => {
    const [, minutes] = /\/(\d{4})\.json/.exec(name) ?? [];
    return row['localFiles.shard'] === 'not given' || Math.floor(Number(minutes) / 10) % 2 === 0;
  };
  return files.filter(({ name }) => isMatched(name) && isOfShard(name));
}

export async function itemsOf(row: Row, files: readonly StoredFile[]): Promise<Item[]> {
  const posts = files.flatMap(({ lines }) => lines.filter(isPost));
  let items: Item[] = posts.map(post => ({ ...post, isMasked: false }));
  for (const stage of stagesOf(row)) items = await STAGES[stage](items, row);
  return items;
}

export function stagesOf(row: Row): StageName[] {
  const [last, ...others] = (Object.keys(STAGES) as StageName[]).toReversed();
  const before = row['flow.(order)'] === 'reversed' ? others : others.toReversed();
  return [...before, last!].filter(stage => row[stage] === 'yes');
}

type StageName = keyof typeof STAGES;
type Stage = (items: readonly Item[], row: Row) => Item[] | Promise<Item[]>;

const STAGES = {
  matchRules: (items, row) =>
    items.flatMap(item => {
      const tags = ['snow', 'rain'].filter(word => item.text.split(/\W+/).includes(word));
      return row['matchRules.dropUnmatched'] === 'true' && tags.length === 0
        ? []
        : [{ ...item, tags }];
    }),
  withoutDeleted: (items, row) =>
    items.flatMap(item => {
      const isHidden =
        DELETED.includes(item.id) ||
        (item.id === EDITED[0] && row['withoutDeleted.earlierVersions'] !== 'keep') ||
        (item.withheld === true && row['withoutDeleted.country'] === 'DE');
      if (!isHidden) return [item];
      return row['withoutDeleted.mask'] === 'true'
        ? [{ ...item, isMasked: true, text: '', author: '' }]
        : [];
    }),
  dedupe: (items, row) => {
    const window = row['dedupe.window'] === '2' ? 2 : Number.POSITIVE_INFINITY;
    let passed: string[] = [];
    return items.filter(item => {
      // The last two digits of a post's id determine its author, even if the post is masked.
      const key = row['dedupe.key'] === 'author' ? String(Number(item.id.slice(-2)) % 3) : item.id;
      if (passed.includes(key)) return false;
      passed = [...passed, key].slice(-window);
      return true;
    });
  },
  sample: async (items, row) => {
    // Only `sample` itself can tell which posts it keeps, so this loop calls it with one post at a
    // time.
    const ratio = Number(row['sample.ratio']);
    const seed = row['sample.seed'] === '7' ? 7 : 0;
    const kept: Item[] = [];
    for (const item of items) {
      const one = (async function* () {
        yield new Activity(Buffer.from(`{"id_str":"${item.id}"}`));
      })();
      for await (const _ of sample({ ratio, seed })(one)) kept.push(item);
    }
    return kept;
  },
  filter: items => items.filter(({ id }) => isKept(id)),
  mapAsync: items => [...items],
  take: (items, row) => items.slice(0, Number(row['take.(count)'])),
  routeByTag: (items, row) => {
    const untagged = row['routeByTag.untagged'] === 'given' ? 'none' : 'untagged';
    return items.flatMap(item =>
      (item.tags.length === 0 ? [untagged] : item.tags).map(tag => ({ ...item, tag })),
    );
  },
} satisfies Record<string, Stage>;

/** Returns whether `filter` keeps a post. The `filter` under test calls this function, too. */
export function isKept(id: string): boolean {
  return !id.endsWith('3');
}
