import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import { realTime, type Timing } from '../../src/http/timing.js';
import type { ArchivedPost } from '../../src/service/archive/archive.js';
import type { Service, ServiceOptions } from '../../src/service/index.js';
import { NOW } from '../service/local-service.js';
import { localOAuth } from '../service/users/local-oauth.js';

/** The timing of a client and of its service. The clocks of both are frozen at `NOW`. */
export const STILL: Timing = { ...realTime, now: () => NOW };
export const ANN = { id: '7', handle: 'ann', name: 'Ann' };

export interface LocalUser {
  readonly service: Service;
  readonly acme: Account;
  as(options: AccountOptions): Account;
  consent(address: string): Promise<Response>;
  refuse(address: string): Promise<Response>;
}

export async function localUser(
  posts: readonly ArchivedPost[] = [],
  options: ServiceOptions = {},
): Promise<LocalUser> {
  const { service, addresses } = await localOAuth(posts, options);
  const as = (more: AccountOptions) =>
    account({ ...addresses, timing: STILL, retry: { firstWaitMs: 1, maxWaitMs: 1 }, ...more }, {});
  const consent = async (address: string) => {
    const approval = await service.oauth.approve(tokenIn(address), ANN);
    if (!('redirect' in approval)) throw new Error('There is no callback');
    return fetch(approval.redirect);
  };
  const refuse = async (address: string) => fetch(String(service.oauth.deny(tokenIn(address))));
  return { service, acme: as({}), as, consent, refuse };
}

export function tokenIn(address: string): string {
  return String(new URL(address).searchParams.get('oauth_token'));
}
