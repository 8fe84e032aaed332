import { MINUTE } from '../../../src/base/time.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { createService, type Service, type ServiceOptions } from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';

/** In these tests, a job stays in each state for this time, which is longer than any work takes. */
export const DWELL = 60_000;

export interface JobBody {
  readonly title: string;
  readonly status: string;
  readonly statusMessage: string;
  readonly jobURL: string;
  readonly percentComplete?: number;
  readonly quote?: {
    readonly costDollars?: number;
    readonly estimatedActivityCount: number;
    readonly estimatedDurationHours: number;
    readonly estimatedFileSizeMb: number;
    readonly expiresAt: string;
  };
  readonly acceptedBy?: string;
  readonly acceptedAt?: string;
  readonly results?: {
    readonly completedAt: string;
    readonly activityCount: number;
    readonly fileCount: number;
    readonly fileSizeMb: number;
    readonly dataURL: string;
    readonly expiresAt: string;
  };
  readonly [name: string]: unknown;
}

export interface Listing {
  readonly urlCount: number;
  readonly urlList: readonly string[];
  readonly totalFileSizeBytes: number;
  readonly suspectMinutesURL?: string;
  readonly expiresAt: string;
}

export interface JobList {
  readonly jobs: readonly (JobBody & { readonly expiresAt?: string })[];
  readonly delivered: {
    readonly jobCount: number;
    readonly jobDaysRun: number;
    readonly activityCount: number;
  };
}

export interface JobReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly message: string | undefined;
}

export interface LocalJobs {
  readonly service: Service;
  readonly base: string;
  readonly errors: unknown[];
  /** Sends a request to a path below the base URL, or to a full URL. */
  ask(path: string, init?: RequestInit): Promise<JobReply>;
  post(fields?: Record<string, unknown>): Promise<JobReply>;
  create(fields?: Record<string, unknown>): Promise<string>;
  job(uuid: string): Promise<JobBody>;
  put(uuid: string, status: unknown): Promise<JobReply>;
  list(): Promise<JobList>;
  results(uuid: string): Promise<Listing>;
  /** Advances the clock, and waits until all work that has become due is done. */
  move(ms: number): Promise<void>;
  bring(
    state: 'quoted' | 'accepted' | 'rejected' | 'delivered',
    fields?: Record<string, unknown>,
  ): Promise<string>;
  stop(): Promise<void>;
}

const running: Service[] = [];

afterTests(async () => {
  for (const service of running.splice(0)) await service.stop();
});

/**
 * Posts of the three hours before `NOW`. There is one about tea every minute. Every tenth post is
 * also about coffee.
 */
export const POSTS: readonly ArchivedPost[] = Array.from({ length: 180 }, (_, i) => {
  const at = NOW - 56_789 - (180 - i) * MINUTE;
  return originalPost(
    at,
    String(1_790_000_000_000_000_000n + BigInt(i)),
    i % 10 ? 'tea' : 'tea or coffee',
  );
});

export const SMALL = {
  publisher: 'twitter',
  dataFormat: 'original',
  fromDate: '202405150934',
  toDate: '202405151034',
  title: 'small',
  rules: [{ value: 'coffee', tag: 'drinks' }],
};

/**
 * Starts a service with posts in memory and a clock that is frozen at `NOW`. It stops after the
 * test.
 */
export async function localJobs({
  clock = NOW,
  ...options
}: ServiceOptions & { readonly clock?: number } = {}): Promise<LocalJobs> {
  const errors: unknown[] = [];
  const service = createService({
    limits: 'relaxed',
    jobDwellMs: DWELL,
    onError: error => errors.push(error),
    archive: new MemoryArchive(POSTS),
    ...options,
  });
  running.push(service);
  service.clock.freeze();
  service.clock.set(clock);
  const { historicalUrl, account, publisher } = await service.start();
  const base = `${historicalUrl}/historical/rulestream/accounts/${account}/publishers/${publisher}`;

  const ask: LocalJobs['ask'] = async (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', AUTHORIZATION);
    const address = path.startsWith('http') ? path : base + path;
    const response = await fetch(address, { ...init, headers });
    const text = await response.text();
    const { error } = text.startsWith('{') ? JSON.parse(text) : { error: undefined };
    return { status: response.status, headers: response.headers, text, message: error?.message };
  };
  const read = async <T>(path: string): Promise<T> => {
    const reply = await ask(path);
    if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
    return JSON.parse(reply.text) as T;
  };
  const post: LocalJobs['post'] = fields =>
    ask('/jobs.json', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...SMALL, ...fields }),
    });
  const create: LocalJobs['create'] = async fields => {
    const reply = await post(fields);
    if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`);
    return uuidOf(JSON.parse(reply.text));
  };
  const put: LocalJobs['put'] = (uuid, status) =>
    ask(`/jobs/${uuid}.json`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ status }),
    });
  const move: LocalJobs['move'] = async ms => {
    service.clock.advance(ms);
    await service.settled();
  };
  const bring: LocalJobs['bring'] = async (state, fields) => {
    const uuid = await create(fields);
    await move(2 * DWELL);
    if (state === 'quoted') return uuid;
    const reply = await put(uuid, state === 'rejected' ? 'reject' : 'accept');
    if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
    if (state === 'delivered') await move(3 * DWELL);
    return uuid;
  };
  return {
    service,
    base,
    errors,
    ask,
    post,
    create,
    put,
    move,
    bring,
    job: uuid => read(`/jobs/${uuid}.json`),
    list: () => read('/jobs.json'),
    results: uuid => read(`/jobs/${uuid}/results.json`),
    stop: () => service.stop(),
  };
}

export function uuidOf({ jobURL }: { readonly jobURL: string }): string {
  return /\/jobs\/([a-z0-9]{10})\.json$/.exec(jobURL)?.[1] ?? '';
}
