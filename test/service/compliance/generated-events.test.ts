import { expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import type { Archive } from '../../../src/service/archive/archive.js';
import {
  type GeneratedEvent,
  GeneratedEvents,
  partitionOf,
  printEvent,
} from '../../../src/service/compliance/generated-events.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';

const NOW = Date.UTC(2024, 4, 3);
const { signal } = new AbortController();

function countingArchive(): { archive: Archive; read(): number } {
  const archive = openSampleArchive({ now: () => NOW, seed: 'events', postsPerMinute: 0.6 });
  let read = 0;
  const scan: Archive['scan'] = async function* (window, options) {
    for await (const segment of archive.scan(window, options)) {
      read += segment.posts.length;
      yield segment;
    }
  };
  return {
    archive: {
      format: archive.format,
      search: (...asked) => archive.search(...asked),
      counts: (...asked) => archive.counts(...asked),
      scan,
      close: () => archive.close(),
    },
    read: () => read,
  };
}

it.each([0.05, 1])(
  'GeneratedEvents returns the events of every archived post of a window, at a rate of %d',
  async rate => {
    const { archive } = countingArchive();
    const generated = new GeneratedEvents('events', rate);
    const all: { at: number; partition: number; json: string }[] = [];
    for await (const { posts } of archive.scan({ from: NOW - 60 * HOUR, to: NOW }))
      for (const { id, at, activity } of posts) {
        const event = generated.eventOf(id, at, activity.verb === 'share');
        const userId = activity.author.id;
        const print = ({ kind, at }: Pick<GeneratedEvent, 'kind' | 'at'>, country: string) =>
          all.push({
            at,
            partition: partitionOf(userId),
            json: printEvent(kind, { id, userId }, at, country),
          });
        if (event !== undefined) print(event, event.country);
        if (event?.undo !== undefined) print(event.undo, event.country);
      }
    const byTime = all.toSorted((a, b) => a.at - b.at || (a.json < b.json ? -1 : 1));
    for (const [from, to] of [
      [NOW - 28 * HOUR, NOW],
      [NOW - HOUR + 123, NOW - 7 * MINUTE + 456],
      [NOW - 1, NOW],
    ] as const) {
      const expected = byTime.filter(({ at }) => at >= from && at < to);
      expect(await generated.events(archive, { from, to }, signal)).toEqual(expected);
    }
    expect(byTime.length).toBeGreaterThan(50);
  },
);

it('GeneratedEvents returns an event if the window begins with the millisecond of the event', async () => {
  const { archive } = countingArchive();
  const generated = new GeneratedEvents('events', 1);
  const all = await generated.events(archive, { from: NOW - 4 * HOUR, to: NOW }, signal);
  // Posts have times in whole seconds, so these events do not come a whole number of seconds after
  // their posts.
  const late = all.filter(({ at }) => at % 1000 > 0).slice(0, 10);
  expect(late).toHaveLength(10);
  for (const { at, json } of late) {
    const found = await generated.events(archive, { from: at, to: at + 1 }, signal);
    expect(found.map(event => event.json)).toContain(json);
  }
});

it('GeneratedEvents reads hardly any posts without an event in the window', async () => {
  const { archive, read } = countingArchive();
  const generated = new GeneratedEvents('events', 0.05);
  const window = { from: NOW - 28 * HOUR, to: NOW };
  const events = await generated.events(archive, window, signal);
  expect(events.length).toBeGreaterThan(30);
  // If a post is not a retweet, only reading it shows whether a later event undoes the first event.
  // Therefore, some posts are read in vain.
  expect(read()).toBeLessThan(events.length * 2);
});
