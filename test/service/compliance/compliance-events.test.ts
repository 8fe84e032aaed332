import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import { parseExact } from '../../../src/json/exact-ids.js';
import { Clock } from '../../../src/service/clock.js';
import { Compliance } from '../../../src/service/compliance/compliance-events.js';
import type { Service } from '../../../src/service/index.js';
import { NOW } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import { COMPLIANCE_PATH, localStreams } from '../replay/local-streams.js';
import { type Event, manyPosts, settings } from './deleted-posts.js';

/** Generates events for an archive. Fails the test if the archive cannot be read, unless `parts` handles it. */
function complianceOf(
  parts: Pick<ComplianceParts, 'archive'> & Partial<Pick<ComplianceParts, 'clock' | 'onError'>>,
): Compliance {
  return new Compliance({
    ...{ clock: new Clock(), seed: 'a', rate: 1 },
    onError: error => expect.unreachable(String(error)),
    ...parts,
  });
}

type ComplianceParts = ConstructorParameters<typeof Compliance>[0];

async function moved(service: Service, ms: number): Promise<void> {
  service.clock.advance(ms);
  await service.settled();
}

describe('generated compliance events', () => {
  it('are sent as the clock advances, and sent again by a replay of the same time', async () => {
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

  it('refer to existing posts and users, in every kind of event', async () => {
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

  it('depend only on the seed, not on how a window is split into replays', async () => {
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

  it('have about the configured rate', async () => {
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

  it('of the last minutes are sent all at once if the fault `flood` is planted', async () => {
    const { open, service } = await localStreams(manyPosts(), settings());
    service.faults.plant({ kind: 'flood', endpoint: 'compliance', minutes: 120 });
    const connection = await open(COMPLIANCE_PATH);
    const text = await connection.until(text => text.split('\r\n').length > 50);
    expect(text).toMatch(/^\{"/);
  });

  it('cause the service to close the connection of a client that reads too slowly', async () => {
    const options = { streamBacklogBytes: 500 };
    const { open, service } = await localStreams(manyPosts(), settings(options));
    service.faults.plant({ kind: 'flood', endpoint: 'compliance' });
    const { messages } = await (await open(COMPLIANCE_PATH)).end();
    expect(messages).toEqual([expect.stringContaining('closing connection to local/compliance')]);
  });

  it('continue after the clock is moved far ahead or back', async () => {
    const { open, service } = await localStreams(manyPosts(), settings());
    const connection = await open(COMPLIANCE_PATH);
    await connection.until(() => true);
    await moved(service, -3 * HOUR);
    await moved(service, 2 * HOUR);
    // Counts the lines, without heartbeats.
    const linesIn = (text: string) => text.split('\r\n').filter(line => line !== '').length;
    const before = linesIn(await connection.until(text => linesIn(text) > 0));
    await moved(service, 30 * MINUTE);
    await connection.until(text => linesIn(text) > before);
  });

  it('of a recent window include those of posts that were added since the last call', async () => {
    const posts = manyPosts();
    let archive = new MemoryArchive(posts.slice(0, 1_000));
    const compliance = complianceOf({ archive: async () => archive });
    const window = { from: NOW - 20 * HOUR, to: NOW };
    const { signal } = new AbortController();
    const before = await compliance.recent(window, {}, signal);
    archive = new MemoryArchive(posts);
    const after = await compliance.recent(window, {}, signal);
    expect(after.length).toBeGreaterThan(before.length);
    expect(after).toEqual(await compliance.within(window, signal));
  });

  it('of a recent window include none before it, even if the previous call had an earlier window', async () => {
    const archive = new MemoryArchive(manyPosts());
    const compliance = complianceOf({ archive: async () => archive });
    const { signal } = new AbortController();
    const version = {};
    const all = await compliance.recent({ from: NOW - 20 * HOUR, to: NOW }, version, signal);
    const window = { from: NOW - 10 * HOUR, to: NOW };
    const recent = await compliance.recent(window, version, signal);
    expect(recent.length).toBeLessThan(all.length);
    expect(recent).toEqual(await compliance.within(window, signal));
  });

  it('are sent again when the clock reaches their times again after it was set back', async () => {
    const clock = new Clock();
    clock.freeze();
    clock.set(NOW - 3 * HOUR);
    const archive = new MemoryArchive(manyPosts());
    const compliance = complianceOf({ clock, archive: async () => archive });
    const sent: string[] = [];
    compliance.listen(({ json }) => sent.push(json));
    const advance = async (ms: number) => {
      clock.advance(ms);
      await compliance.settled();
      return sent.splice(0);
    };
    const first = await advance(2 * HOUR);
    expect(first.length).toBeGreaterThan(5);
    expect(await advance(-2 * HOUR)).toEqual([]);
    expect(await advance(2 * HOUR)).toEqual(first);
    await compliance.close();
  });

  it('are all sent even if the archive could not be read when some of them were due', async () => {
    const clock = new Clock();
    clock.freeze();
    clock.set(NOW - 2 * HOUR);
    const archive = new MemoryArchive(manyPosts());
    const failures: unknown[] = [];
    let fails = 0;
    const compliance = complianceOf({
      clock,
      archive: () => (fails-- > 0 ? Promise.reject(new Error('gone')) : Promise.resolve(archive)),
      onError: error => failures.push(error),
    });
    const sent: string[] = [];
    compliance.listen(({ json }) => sent.push(json));
    const window = { from: clock.now(), to: clock.now() + HOUR };
    const { signal } = new AbortController();
    const due = (await compliance.within(window, signal)).map(({ json }) => json);
    fails = 2;
    for (let i = 0; i < 60; i++) {
      clock.advance(MINUTE);
      await compliance.settled();
    }
    await compliance.close();
    expect(failures).toHaveLength(2);
    expect(due.length).toBeGreaterThan(5);
    expect(sent).toEqual(due);
  });
});
