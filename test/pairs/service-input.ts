import { HOUR, MINUTE } from '../../src/base/time.js';
import { type Account, account } from '../../src/http/account.js';
import type { DeliveredJob } from '../../src/jobs/job.js';
import { runJob } from '../../src/jobs/run-job.js';
import { addReplayRules } from '../../src/replay/rule-calls.js';
import { ID_EPOCH } from '../../src/service/archive/look-up-post.js';
import { createService, type Service } from '../../src/service/index.js';
import { type AccessToken, accessToken, requestToken } from '../../src/users/sign-in-steps.js';
import { timingOf } from '../replay/service-timing.js';

export const START = Date.UTC(2026, 10, 20);
export const END = START + 6 * HOUR;
/**
 * The service's time during all runs except the last one. `LATER` is its time during the last run.
 */
export const NOW = END + 40 * MINUTE;
export const LATER = NOW + 5 * HOUR;

export interface Post {
  readonly id: string;
  readonly text: string;
  readonly at: number;
  readonly likes: number;
  readonly isOfUser: boolean;
}

export const POSTS: readonly Post[] = [START, END + 50 * MINUTE].flatMap((from, later) =>
  Array.from({ length: later === 0 ? 45 : 20 }, (_, index) => {
    const at = from + 4 * MINUTE + index * 8 * MINUTE;
    return {
      id: String((BigInt(at - ID_EPOCH) << 22n) + BigInt(index)),
      text: ['snow', 'snow and rain', 'snow 🌨', 'rain'][index % 4]!,
      at,
      likes: index,
      isOfUser: index % 3 !== 0,
    };
  }),
);

export const RULES = [
  { value: 'snow', tag: 'snow' },
  { value: 'rain', tag: 'rain' },
];

/**
 * A compliance event about a post. The service has no post with this id, because an event would
 * hide the post.
 */
export interface Event {
  readonly id: string;
  readonly at: number;
}

const EVENTS_A_PERIOD = 11;
/** `compliance` starts reading at this time if `fromDate` is given. */
export const EVENTS_START = END - HOUR;

const eventsFrom = (start: number, first: number): readonly Event[] =>
  Array.from({ length: EVENTS_A_PERIOD }, (_, index) => ({
    id: String(first + index),
    at: start + (3 + 5 * index) * MINUTE,
  }));

/** The events before the first run, and the events between the first run and the later run. */
export const EVENTS = [eventsFrom(EVENTS_START, 1000), eventsFrom(LATER - HOUR, 2000)] as const;

export const LIVE_ID = '3000';

const USER = { id: '7', handle: 'ann', name: 'Ann' };

const jsonOf = ({ id, at }: Event): string =>
  `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":1,"user_id_str":"1"},"timestamp_ms":"${at}"}}`;

export const JOB = { from: START, to: START + 80 * MINUTE };

let addresses: Awaited<ReturnType<Service['start']>>;
let sent = 0;

export let service: Service;
export let token: AccessToken | undefined;
export let job: DeliveredJob;

export const requests = (): number => sent;

export const acme = (): Account =>
  account(
    {
      ...addresses,
      timing: timingOf(service),
      retry: { attempts: 1 },
      ...(token !== undefined && { accessToken: token.token, accessTokenSecret: token.secret }),
    },
    {},
  );

export async function startService(): Promise<void> {
  service = createService({
    ...{ limits: 'relaxed', heartbeatMs: 50, jobDwellMs: 0 },
    posts: POSTS.map(({ id, text, at, likes, isOfUser }) => ({
      ...{ id, text, likes, postedAt: at },
      author: isOfUser ? { handle: USER.handle, id: USER.id } : 'bob',
    })),
  });
  addresses = await service.start(0);
  service.clock.freeze();
  service.clock.set(NOW);
  service.on('request', () => sent++);
  await addReplayRules(acme(), RULES.slice(0, 1));
  const request = await requestToken(acme(), { callback: 'oob' });
  const approval = await service.oauth.approve(request.token, USER);
  const verifier = 'pin' in approval ? approval.pin : '';
  token = await accessToken(acme(), { token: request, verifier });
  job = await runJob(acme(), {
    ...{ title: 'pairs', dataFormat: 'original', rules: RULES, decide: () => true },
    ...{ fromDate: new Date(JOB.from), toDate: new Date(JOB.to) },
  });
}

export const stopService = (): Promise<void> => service.stop();

export function resetEvents(): void {
  service.compliance.replace(EVENTS[0].map(event => ({ at: event.at, json: jsonOf(event) })));
}

export function injectLaterEvents(): void {
  for (const event of EVENTS[1]) service.compliance.inject(jsonOf(event), event.at);
}

export function injectLiveEvent(): void {
  service.compliance.inject(jsonOf({ id: LIVE_ID, at: service.clock.now() }));
}
