import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, SEGMENT } from '../../src/base/time.js';
import type { Row } from './covering-rows.js';
import {
  END,
  EVENTS,
  EVENTS_START,
  JOB,
  LIVE_ID,
  POSTS,
  type Post,
  RULES,
  START,
} from './service-input.js';
import { isIncremental, optionOf, sourceOf } from './service-values.js';

/**
 * Returns what the sinks must get in a run with these options.
 * @param before The time of the previous run, for an incremental source.
 */
export function itemsOf(row: Row, now: number, before: number | undefined): string[] {
  const items = sourceItems(row, now, before);
  return row.engagement === 'yes' ? items.map(item => withTotals(item, row)) : items;
}

/**
 * Returns whether the test sends a compliance event while the first run fills its gap. That run or
 * the next one delivers the event.
 */
export function hasLiveEvent(row: Row): boolean {
  return (
    row['compliance.until'] === 'caught up' &&
    row['compliance.fromDate'] !== 'not given' &&
    row['compliance.backfill'] !== 'false'
  );
}

function withTotals(item: string, row: Row): string {
  const { likes, isOfUser } = POSTS.find(({ id }) => item.startsWith(id))!;
  if (!isOfUser) return `${item} ${totalsText(undefined)} 1`;
  const as = row['engagement.counts'];
  const count = (value: number) =>
    as === 'number' ? value : as === 'bigint' ? BigInt(value) : String(value);
  const all = { favorites: count(likes), retweets: count(0), replies: count(0) };
  const totals = row['engagement.types'] === 'one' ? { favorites: all.favorites } : all;
  return `${item} ${totalsText(totals)} 0`;
}

export function totalsText(totals: object | undefined): string {
  return Object.entries(totals ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, count]) => `${type}: ${typeof count} ${count}`)
    .join(', ');
}

const has = (word: string) => (post: Post) => post.text.includes(word);

function tagged(post: Post): string {
  const tags = RULES.map(({ tag }) => tag).filter(tag => has(tag)(post));
  return [post.id, post.text, ...tags.toSorted()].join(' ');
}

function sourceItems(row: Row, now: number, before: number | undefined): string[] {
  const { from, to } = windowOf(row, now, before);
  const posts = POSTS.filter(({ at }) => from <= at && at < to);
  switch (sourceOf(row)) {
    case 'search': {
      const found = posts.filter(has('snow')).toReversed();
      const limit = Number(row['search.limit']) || Number.POSITIVE_INFINITY;
      const size = Number(row['search.maxResults']) || Math.min(Math.max(limit, 10), 500);
      const pages = Number(row['search.pages']) || Number.POSITIVE_INFINITY;
      return found
        .slice(0, Math.min(limit, size * pages))
        .map(({ id, text }) =>
          [id, text, ...(row['search.tag'] === 'given' ? ['a tag'] : [''])].join(' ').trimEnd(),
        );
    }
    case 'searchRules': {
      const found = posts.toReversed();
      const isEach = row['searchRules.queryLimits'] === 'a rule each';
      const [first, others] = [found.filter(has('snow')), found.filter(post => !has('snow')(post))];
      return (isEach ? [...first, ...others] : found).map(tagged);
    }
    case 'counts': {
      const length = bucketOf(row);
      const buckets: string[] = [];
      for (let start = floorTo(length, from); start < to; start += length) {
        const count = posts
          .filter(has('snow'))
          .filter(({ at }) => start <= at && at < start + length);
        buckets.push(`${formatTimestamp(start)} ${count.length}`);
      }
      return buckets;
    }
    case 'jobFiles': {
      const fileOf = ({ at }: Post) => Math.floor((at - JOB.from) / SEGMENT);
      const part = ['1/2', '2/2'].indexOf(row['jobFiles.shard'] ?? '');
      return POSTS.filter(({ at }) => JOB.from <= at && at < JOB.to)
        .filter(post => part === -1 || fileOf(post) % 2 === part)
        .map(tagged);
    }
    case 'compliance': {
      if (row['compliance.backfill'] === 'false') return [];
      const first = row['compliance.fromDate'] === 'not given' ? now : EVENTS_START;
      const start = before ?? first;
      const happened = EVENTS.flat().filter(({ at }) => start <= at && at < now);
      const live = before !== undefined && hasLiveEvent(row) ? [LIVE_ID] : [];
      return [...happened.map(({ id }) => id), ...live].map(id => `event ${id}`);
    }
    default: {
      const isOfRules = row['replay.streamType'] === 'rulestream';
      return (isOfRules ? posts.filter(has('snow')) : posts).map(({ id, text }) =>
        [id, text, ...(isOfRules ? ['snow'] : [])].join(' '),
      );
    }
  }
}

const bucketOf = (row: Row): number =>
  ({ day: DAY, minute: MINUTE })[row['counts.bucket'] ?? ''] ?? HOUR;

function windowOf(row: Row, now: number, before: number | undefined) {
  // Incremental runs read only complete minutes. In the service, a minute is complete once it is
  // this old.
  const ageMs = row.replay === 'yes' ? 31 * MINUTE : MINUTE;
  const endOf = (time: number) =>
    floorTo(row.counts === 'yes' ? bucketOf(row) : MINUTE, time - ageMs);
  const toDate = optionOf(row, 'toDate') === 'not given' ? now : END;
  const to = isIncremental(row) ? endOf(now) : toDate;
  const fromDate = optionOf(row, 'fromDate') === 'not given' ? to - 30 * DAY : START;
  const from = before === undefined ? fromDate : endOf(before);
  const half = from + (to - from) / 2;
  switch (optionOf(row, 'shard')) {
    case '1/2':
      return { from, to: half };
    case '2/2':
      return { from: half, to };
    default:
      return { from, to };
  }
}
