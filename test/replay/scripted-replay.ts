import { afterEach, beforeEach } from 'vitest';
import { floorTo, HOUR, MINUTE, type Window } from '../../src/base/time.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import type { Timing } from '../../src/http/timing.js';
import type { Activity } from '../../src/post/activity.js';
import { type ReplayOptions, replay } from '../../src/replay/replay.js';
import { collect } from '../../src/sinks/collect.js';
import { type WirePost, wholeReplay } from '../http/live-wire.js';
import { type Reply, ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';
import { temporaryFolder } from '../temporary-folder.js';

export let server: ScriptedServer;

export let folder: string;

export let timing: ReturnType<typeof impatient>;

export function acme(options: Partial<AccountOptions> = {}): Account {
  return account(
    {
      replayStreamUrl: `${server.url}/base`,
      account: 'acme',
      publisher: 'twitter',
      streamLabel: 'prod',
      ...LOGIN,
      timing,
      ...options,
    },
    {},
  );
}

/**
 * Creates the timing of a new process, whose waits advance the clock. The process shares only the
 * wall clock with earlier processes.
 */
export function timingOfProcess(clock: { now: number }): Timing {
  const started = clock.now;
  return {
    now: () => clock.now,
    elapsed: () => clock.now - started,
    random: () => 0.5,
    async sleep(ms) {
      clock.now += ms;
    },
  };
}

export function past(minutes: number): Window {
  const to = floorTo(MINUTE, Date.now() - 3 * HOUR);
  return { from: to - minutes * MINUTE, to };
}

export function posts(window: Window, options: Partial<ReplayOptions> = {}, of = acme()) {
  return replay(of, {
    streamType: 'rulestream',
    fromDate: new Date(window.from),
    toDate: new Date(window.to),
    folder,
    ...(options as object),
  });
}

export const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

export const collected = (flow: ReturnType<typeof posts>) => collect<Activity>()(flow);

/**
 * Returns the posts of a replay. Its first connection gets this reply, and all later connections
 * get complete replies.
 */
export async function followedBy(
  first: Reply,
  window: Window,
  sent: readonly WirePost[],
  options = {},
) {
  server.script.push(first);
  server.otherwise = wholeReplay(sent);
  return collected(posts(window, options));
}

export function setUpReplay(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
    folder = await temporaryFolder();
    timing = impatient();
  });
  afterEach(() => server.stop());
}
