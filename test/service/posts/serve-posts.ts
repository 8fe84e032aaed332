import { DAY, MINUTE } from '../../../src/base/time.js';
import { type Activity, account, collect, pipeline, replay, search } from '../../../src/index.js';
import { createService, type GivenPost, type ServiceOptions } from '../../../src/service/index.js';
import type { Posts } from '../../../src/service/posts/posts.js';
import { afterTests } from '../../after-tests.js';

export const NOW = Date.UTC(2024, 4, 15, 12, 34, 56, 789);

afterTests(async () => {
  for (const stop of stops.splice(0)) await stop();
});
const stops: (() => Promise<void>)[] = [];

export async function serve(options: ServiceOptions) {
  const service = createService({ limits: 'relaxed', jobDwellMs: 0, ...options });
  stops.push(() => service.stop());
  service.clock.freeze();
  service.clock.set(NOW);
  const addresses = await service.start();
  const acme = account(addresses, {});
  const found = (query: string) =>
    pipeline(search(acme, { product: '30day', query, limit: 5000 }), collect());
  /**
   * Returns all posts of the last day, oldest first. Excludes the last half hour, because it cannot
   * be replayed yet.
   */
  const everything = () =>
    pipeline(
      replay(acme, {
        streamType: 'firehose',
        fromDate: new Date(NOW - DAY),
        toDate: new Date(NOW - 31 * MINUTE),
      }),
      collect(),
    );
  const control = async (method: string, route: string, body?: string) => {
    const response = await fetch(`${addresses.baseUrl}/_control/${route}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text() };
  };
  return { service, addresses, acme, found, everything, control };
}

/** Creates the posts without starting the service. */
export function added(posts: readonly GivenPost[]): Posts {
  const service = createService({ posts: [] });
  service.clock.set(NOW);
  service.posts.add(posts);
  return service.posts;
}

export const textsOf = (posts: readonly Activity[]) => posts.map(({ text }) => text);

export const FORMATS = ['original', 'activity_streams'] as const;
