import type { NatsConnection, Status } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { refusedLogin } from '../../src/jetstream/refused-login.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** What the tries to connect end with, one each 100 ms. */
type Outcome = 'refused' | 'late' | 'down' | 'connected';

/** How many tries there were until a login counts as refused. */
async function triesUntilRefused(
  servers: number,
  outcomes: readonly Outcome[],
): Promise<number | undefined> {
  let tries = 0;
  async function* status(): AsyncGenerator<Status> {
    for (const outcome of outcomes) {
      tries++;
      vi.advanceTimersByTime(100);
      yield { type: 'reconnecting' };
      const error = new Error(
        outcome === 'late' ? 'Authentication Timeout' : 'Authorization Violation',
      );
      error.name = 'AuthorizationError';
      if (outcome === 'refused' || outcome === 'late') yield { type: 'error', error };
      if (outcome === 'connected') yield { type: 'reconnect', server: 'one' };
    }
  }
  const nats = { status, getServers: () => Array.from({ length: servers }) };
  const error = await refusedLogin(nats as unknown as NatsConnection);
  return error === undefined ? undefined : tries;
}

const tries = (count: number, ...outcomes: readonly Outcome[]) =>
  Array.from({ length: count }, () => outcomes).flat();

it('a login counts as refused once all servers have refused it for two seconds', async () => {
  expect(await triesUntilRefused(1, tries(100, 'refused'))).toBe(21);
  expect(await triesUntilRefused(30, tries(100, 'refused'))).toBe(60);
});

it.each<[string, Outcome[]]>([
  ['one server of several is down', tries(50, 'refused', 'refused', 'down')],
  ['it comes too late', tries(100, 'late')],
  ['one server accepts it', tries(10, ...tries(10, 'refused'), 'connected')],
])('a login does not count as refused where %s', async (_, outcomes) => {
  expect(await triesUntilRefused(2, outcomes)).toBeUndefined();
});
