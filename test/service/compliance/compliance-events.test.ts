import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/json/exact-json.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import type { Service, ServiceOptions } from '../../../src/service/index.js';
import { DAY, floorTo, HOUR, MINUTE, SECOND } from '../../../src/time.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';
import {
  COMPLIANCE_PATH,
  hourOfPosts,
  idOf,
  idsIn,
  localStreams,
  START,
} from '../replay/local-streams.js';

type Event = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function deletion(id: string, at = NOW): string {
  return `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":7,"user_id_str":"7"},"timestamp_ms":"${at}"}}`;
}

/** Ten posts a minute by many authors, over the two days before `NOW`. */
function manyPosts(): ArchivedPost[] {
  return Array.from({ length: 2 * 24 * 60 }, (_, i) => {
    const at = NOW - 2 * DAY + i * MINUTE - 56_789;
    const post = originalPost(at, idOf(i), `tea ${i}`);
    const raw = String(post.activity.raw).replaceAll(/"7"|:7,/g, match =>
      match.replace('7', String(9_007_199_254_740_993n + BigInt(i % 900))),
    );
    const activity = new (Object.getPrototypeOf(post.activity).constructor)(Buffer.from(raw));
    return { ...post, activity };
  });
}

const settings = (options: ServiceOptions = {}) => ({ complianceRate: 1, ...options });

/** Moves the clock until a stream has received the given number of messages. */
async function moved(service: Service, ms: number): Promise<void> {
  service.clock.advance(ms);
  await service.settled();
}

describe('generated events', () => {
  it('are sent as the clock advances, and a replay of that time gives the same', async () => {
    const { open, see, replayPath, service } = await localStreams(manyPosts(), settings());
    const start = Math.ceil(NOW / MINUTE) * MINUTE;
    service.clock.set(start);
    const connection = await open(COMPLIANCE_PATH);
    await connection.until(() => true);
    for (let i = 0; i < 8; i++) await moved(service, 7.5 * SECOND);
    for (let i = 0; i < 9; i++) await moved(service, MINUTE);
    await moved(service, SECOND);
    service.clock.advance(HOUR);
    const { messages } = await see(replayPath('compliance', start, start + 10 * MINUTE));
    const linesOf = (text: string) => text.split('\r\n').slice(0, messages.length - 1);
    const live = linesOf(
      await connection.until(text => linesOf(text).length >= messages.length - 1),
    );
    expect(live).toEqual(messages.slice(0, -1));
    expect(live.length).toBeGreaterThan(5);
    expect(messages.at(-1)).toContain(`"activity_count":${live.length}`);
  });

  it('are of posts and users that exist, in every kind and shape, with exact ids', async () => {
    const posts = manyPosts();
    const { see, replayPath } = await localStreams(posts, settings());
    const { messages } = await see(replayPath('compliance', NOW - 20 * HOUR, NOW - 2 * HOUR));
    const ids = new Set(posts.map(post => post.id));
    const users = new Set(posts.map(post => post.activity.author.id));
    const kinds = new Map<string, number>();
    let last = 0;
    for (const message of messages.slice(0, -1)) {
      const event = parseExact(message) as Event;
      const [kind, body] = Object.entries(event)[0] as [string, Record<string, unknown>];
      const shape = [kind, ...Object.keys(body)].join(' ');
      kinds.set(shape, (kinds.get(shape) ?? 0) + 1);
      const at = Number(body.timestamp_ms ?? Date.parse(String(body.timestampMs)));
      expect(at).toBeGreaterThanOrEqual(last);
      last = at;
      const status = (body.status ?? body.favorite ?? {}) as Record<string, unknown>;
      const user = (body.user ?? {}) as Record<string, unknown>;
      const isUser = kind.startsWith('user_');
      for (const id of [status.id, status.id_str, isUser ? undefined : body.initial_tweet_id])
        if (id !== undefined) expect(ids).toContain(id);
      if (kind === 'status_withheld' && body.id !== undefined) expect(ids).toContain(body.id);
      const named = [status.user_id, status.user_id_str, body.user_id, body.user_id_str];
      for (const id of [...named, user.id, user.id_str, isUser ? body.id : undefined])
        if (id !== undefined) expect(users).toContain(id);
    }
    expect([...kinds.keys()].toSorted()).toEqual([
      'delete favorite timestamp_ms',
      'delete status timestamp_ms',
      'drop status timestamp_ms',
      'scrub_geo user_id up_to_status_id up_to_status_id_str user_id_str timestamp_ms',
      'status_withheld id user_id withheld_in_countries timestamp_ms',
      'status_withheld status withheld_in_countries timestamp_ms',
      'tweet_edit id initial_tweet_id edit_tweet_ids timestamp_ms',
      'undrop status timestamp_ms',
      'user_delete id timestamp_ms',
      'user_protect id timestamp_ms',
      'user_suspend id timestamp_ms',
      'user_undelete id timestamp_ms',
      'user_unprotect id timestamp_ms',
      'user_unsuspend id timestamp_ms',
      'user_withheld id timestamp_ms withheld_in_countries',
      'user_withheld user withheld_in_countries timestampMs',
    ]);
  });

  it('derive from the seed, and are the same for a window split at any minute', async () => {
    const { see, replayPath } = await localStreams(manyPosts(), settings({ seed: 'a' }));
    const from = NOW - 5 * HOUR - 34 * MINUTE - 56_789;
    const eventsOf = async (from: number, to: number) =>
      (await see(replayPath('compliance', from, to))).messages.slice(0, -1);
    const whole = await eventsOf(from, from + HOUR);
    const parts = [];
    for (let at = 0; at < 60; at += 7.5 * 2)
      parts.push(...(await eventsOf(from + at * MINUTE, from + (at + 15) * MINUTE)));
    expect(parts).toEqual(whole);
    const same = await localStreams(manyPosts(), settings({ seed: 'a' }));
    const other = await localStreams(manyPosts(), settings({ seed: 'b' }));
    const path = replayPath('compliance', from, from + HOUR);
    expect((await same.see(path)).messages.slice(0, -1)).toEqual(whole);
    expect((await other.see(path)).messages.slice(0, -1)).not.toEqual(whole);
  });

  it('have the configured rate', async () => {
    const from = NOW - 20 * HOUR;
    const counts = [];
    for (const complianceRate of [0, 0.1, 1]) {
      const { see, replayPath } = await localStreams(manyPosts(), { complianceRate });
      counts.push(
        (await see(replayPath('compliance', from, from + 15 * HOUR))).messages.length - 1,
      );
    }
    expect(counts[0]).toBe(0);
    expect(counts[1]).toBeGreaterThan(40);
    expect(counts[1]).toBeLessThan((counts[2] as number) / 5);
  });

  it('a flood sends the events of the last minutes immediately', async () => {
    const { open, service } = await localStreams(manyPosts(), settings());
    service.faults.plant({ kind: 'flood', endpoint: 'compliance', minutes: 120 });
    const connection = await open(COMPLIANCE_PATH);
    const text = await connection.until(text => text.split('\r\n').length > 50);
    expect(text).toMatch(/^\{"/);
  });

  it('a slow client is disconnected', async () => {
    const options = { streamBacklogBytes: 500 };
    const { open, service } = await localStreams(manyPosts(), settings(options));
    service.faults.plant({ kind: 'flood', endpoint: 'compliance' });
    const { messages } = await (await open(COMPLIANCE_PATH)).end();
    expect(messages).toEqual([expect.stringContaining('closing connection to local/compliance')]);
  });

  it('a clock that jumps far, or back, does not stop the stream', async () => {
    const { open, service } = await localStreams(manyPosts(), settings());
    const connection = await open(COMPLIANCE_PATH);
    await connection.until(() => true);
    await moved(service, -3 * HOUR);
    await moved(service, 2 * HOUR);
    const before = (await connection.until(text => text.length > 0)).length;
    await moved(service, 30 * MINUTE);
    await connection.until(text => text.length > before);
  });
});

describe('a deleted post', () => {
  const SEARCH = '/search/30day/accounts/local/dev.json?query=tea&maxResults=500';
  const COUNTS = '/search/30day/accounts/local/dev/counts.json?query=tea';

  const ask = async (baseUrl: string, path: string) => {
    const response = await fetch(baseUrl + path, { headers: { authorization: AUTHORIZATION } });
    return (await response.json()) as {
      readonly results: readonly { readonly id_str: string }[];
      readonly next?: string;
      readonly totalCount: number;
    };
  };

  it('disappears from search and replay, but not from counts', async () => {
    const { service, addresses, see, replayPath } = await localStreams(hourOfPosts());
    const before = await ask(addresses.baseUrl, COUNTS);
    service.compliance.inject(deletion(idOf(5)));
    const { results } = await ask(addresses.baseUrl, SEARCH);
    expect(results).toHaveLength(59);
    expect(results.map(post => post.id_str)).not.toContain(idOf(5));
    const { messages } = await see(replayPath());
    expect(idsIn(messages)).toHaveLength(59);
    expect(messages.at(-1)).toContain('"activity_count":59');
    expect(await ask(addresses.baseUrl, COUNTS)).toEqual(before);
    expect(before.totalCount).toBe(60);
  });

  it('does not make pages shorter', async () => {
    const { service, addresses } = await localStreams(hourOfPosts());
    for (let i = 0; i < 60; i += 2) service.compliance.inject(deletion(idOf(i)));
    const path = SEARCH.replace('500', '10');
    const found: string[] = [];
    let next: string | undefined;
    const sizes = [];
    do {
      const query: string = next === undefined ? '' : `&next=${encodeURIComponent(next)}`;
      const page = await ask(addresses.baseUrl, path + query);
      found.push(...page.results.map(post => post.id_str));
      sizes.push(page.results.length);
      next = page.next;
    } while (next !== undefined);
    expect(found).toEqual(Array.from({ length: 30 }, (_, i) => idOf(59 - 2 * i)));
    expect(sizes.slice(0, 3)).toEqual([10, 10, 10]);
  });

  it('stays in a page that is requested again', async () => {
    const { service, addresses } = await localStreams(hourOfPosts());
    const path = SEARCH.replace('500', '10');
    const { next = '' } = await ask(addresses.baseUrl, path);
    const again = () => ask(addresses.baseUrl, `${path}&next=${encodeURIComponent(next)}`);
    const before = await again();
    service.clock.advance(SECOND);
    service.compliance.inject(deletion(idOf(45)));
    expect((await again()).results).toEqual(before.results);
    const ids = before.results.map(post => post.id_str);
    expect(ids).toContain(idOf(45));
  });

  it.each([
    ['drop', 'undrop', '{"status":{"id":1,"id_str":"ID","user_id":7,"user_id_str":"7"}}', 1],
    ['user_delete', 'user_undelete', '{"id":7}', 60],
    ['user_protect', 'user_unprotect', '{"id":7}', 60],
    ['user_suspend', 'user_unsuspend', '{"id":7}', 60],
  ])('%s hides until %s', async (kind, undoing, body, hidden) => {
    const { service, addresses } = await localStreams(hourOfPosts());
    const inject = (name: string) =>
      service.compliance.inject(`{"${name}":${body.replace('ID', idOf(3))}}`);
    inject(kind);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(60 - hidden);
    inject(undoing);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(60);
  });

  it('an undo removes only its own reason', async () => {
    const { service, addresses } = await localStreams(hourOfPosts());
    for (const kind of ['user_protect', 'user_suspend', 'user_unprotect'])
      service.compliance.inject(`{"${kind}":{"id":7}}`);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(0);
  });

  it('hides its reposts, too', async () => {
    const [original, other] = hourOfPosts(2);
    if (original === undefined || other === undefined) throw new Error('no posts');
    const raw = String(other.activity.raw).replace(
      '"entities"',
      `"retweeted_status":${original.activity.raw},"entities"`,
    );
    const activity = new (Object.getPrototypeOf(other.activity).constructor)(Buffer.from(raw));
    const { service, addresses } = await localStreams([original, { ...other, activity }]);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(2);
    service.compliance.inject(deletion(original.id));
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(0);
  });

  it('follows the generated events: exactly the posts that they delete are hidden', async () => {
    const posts = manyPosts();
    const { see, replayPath, service, addresses } = await localStreams(posts, settings());
    service.clock.advance(HOUR);
    const { messages } = await see(replayPath('compliance', NOW - 4 * DAY, NOW));
    // The last minutes cannot be replayed yet.
    const young = floorTo(MINUTE, NOW - 30 * HOUR);
    const gone = new Set<unknown>();
    for (const message of messages) {
      const event = parseExact(message) as Event;
      const status = (body: unknown) => (body as { status?: { id: string } })?.status?.id;
      if (status(event.delete) !== undefined) gone.add(status(event.delete));
      if (status(event.drop) !== undefined) gone.add(status(event.drop));
      if (status(event.undrop) !== undefined) gone.delete(status(event.undrop));
    }
    const old = posts.filter(({ at }) => at < young);
    const replayed = await see(replayPath('firehose', old[0]?.at, young));
    const expected = old.filter(({ id }) => !gone.has(id)).map(({ id }) => id);
    expect(idsIn(replayed.messages)).toEqual(expected);
    expect(old.length - expected.length).toBeGreaterThan(100);
    const { totalCount } = await ask(addresses.baseUrl, COUNTS);
    expect(totalCount).toBe(posts.length);
  });

  it('nothing is hidden unless there are events', async () => {
    const archive = new MemoryArchive(manyPosts());
    const { service } = await localStreams([], { archive });
    expect(service.compliance.hidesNothing).toBe(true);
  });
});

describe('injecting an event', () => {
  it.each(['', 'x', '[]', '5', '{}', '{"delete":5}', '{"delete":{}}\r\n'])(
    'refuses %j',
    async event => {
      const { service } = await localStreams();
      expect(() => service.compliance.inject(event)).toThrow(
        expect.objectContaining({ option: 'event' }),
      );
    },
  );

  it('works over the control path, with exact ids', async () => {
    const { service, addresses, open } = await localStreams();
    const connection = await open(COMPLIANCE_PATH);
    const url = `${addresses.baseUrl}/_control/compliance`;
    const event = deletion('1790000000000000001');
    expect((await fetch(url, { method: 'POST', body: event })).status).toBe(201);
    expect(await connection.until(text => text.includes('\n'))).toBe(`${event}\r\n`);
    const refused = await fetch(url, { method: 'POST', body: '[]' });
    expect(refused.status).toBe(422);
    expect(service.compliance.hidesNothing).toBe(false);
  });

  it('may set the time: then replays of that time include it, with all partitions', async () => {
    const { service, see, replayPath } = await localStreams();
    service.compliance.inject(deletion('2'), START + 10 * MINUTE);
    service.compliance.inject(deletion('1'), START);
    service.compliance.inject(deletion('3'), START + HOUR);
    const { messages } = await see(replayPath('compliance'));
    expect(messages.slice(0, -1)).toEqual([deletion('1'), deletion('2')]);
    expect(messages.at(-1)).toContain('"activity_count":2');
  });
});
