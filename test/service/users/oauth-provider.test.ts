import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { Quotas } from '../../../src/service/http/quotas.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { serviceSettings } from '../../../src/service/service-options.js';
import type { Application } from '../../../src/service/users/applications.js';
import { OAuthProvider } from '../../../src/service/users/oauth-provider.js';
import { MemoryArchive } from '../memory-archive.js';
import { CALLBACK, verifierOf } from './local-oauth.js';

const USERS = ['7', '8'].map(id => ({ id, handle: `user${id}`, name: 'Ann' }));
const LIFE = limitsOf('strict').requestTokenMs;

interface Expected {
  readonly token: string;
  readonly application: number;
  readonly expiresAt: number;
  state: 'pending' | 'approved' | 'gone';
  user?: number;
  generation?: number;
  verifier?: string;
  wrong: number;
}

type Step =
  | { readonly do: 'issue'; readonly application: number; readonly oob: boolean }
  | { readonly do: 'approve'; readonly which: number; readonly user: number }
  | { readonly do: 'deny' | 'guess' | 'exchange'; readonly which: number }
  | { readonly do: 'revoke'; readonly application: number; readonly user: number }
  | { readonly do: 'wait'; readonly ms: number };

describe('OAuthProvider', () => {
  const bit = fc.nat(1);
  const which = fc.nat(3);
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant('issue' as const), application: bit, oob: fc.boolean() }),
    fc.record({ do: fc.constant('approve' as const), which, user: bit }),
    fc.record({ do: fc.constantFrom('deny' as const, 'guess' as const), which }),
    fc.record({ do: fc.constant('exchange' as const), which }),
    fc.record({ do: fc.constant('revoke' as const), application: bit, user: bit }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(MINUTE, LIFE) }),
  );

  it('behaves like its simplified model for sign-in steps in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40 }), async steps => {
        const clock = new Clock();
        clock.freeze();
        const settings = serviceSettings({});
        const quotas = new Quotas(settings.limits, clock);
        const archive = async () => new MemoryArchive([]);
        const provider = new OAuthProvider({ settings, clock, quotas, archive });
        const applications = provider.applications as readonly [Application, Application];
        const requests: Expected[] = [];
        /** Maps each pair of a user and an application to the generation of its valid grant. */
        const grants = new Map<string, number>();
        const tokens = new Map<number, string>();
        let generations = 0;

        const isAlive = (one: Expected) => one.state !== 'gone' && one.expiresAt > clock.now();
        const refused = async (work: () => unknown) => {
          await expect((async () => work())()).rejects.toMatchObject({ status: 401 });
        };

        for (const step of steps) {
          const latest = requests.toReversed();
          const request = 'which' in step ? latest[step.which] : undefined;
          if (step.do === 'wait') clock.advance(step.ms);
          else if (step.do === 'issue') {
            const application = applications[step.application] as Application;
            const { token, expiresAt } = provider.issue(application, step.oob ? 'oob' : CALLBACK);
            expect(expiresAt).toBe(clock.now() + LIFE);
            requests.push({
              token,
              application: step.application,
              expiresAt,
              state: 'pending',
              wrong: 0,
            });
          } else if (step.do === 'revoke') {
            const user = USERS[step.user] as (typeof USERS)[number];
            const name = `${step.user} ${step.application}`;
            const had = await provider.revoke(user, applications[step.application] as Application);
            expect(had).toBe(grants.delete(name));
          } else if (request === undefined) continue;
          else if (step.do === 'approve') {
            const user = USERS[step.user] as (typeof USERS)[number];
            if (!isAlive(request) || request.state !== 'pending') {
              await refused(() => provider.approve(request.token, user));
              continue;
            }
            request.verifier = verifierOf(await provider.approve(request.token, user));
            request.state = 'approved';
            request.user = step.user;
            const name = `${step.user} ${request.application}`;
            request.generation = grants.get(name) ?? ++generations;
            grants.set(name, request.generation);
          } else if (step.do === 'deny') {
            if (!isAlive(request) || request.state !== 'pending')
              await refused(() => provider.deny(request.token));
            else {
              provider.deny(request.token);
              request.state = 'gone';
            }
          } else if (step.do === 'guess') {
            await refused(() => provider.exchange(request.token, 'wrong'));
            if (isAlive(request) && request.state === 'approved' && ++request.wrong === 5)
              request.state = 'gone';
          } else if (!isAlive(request) || request.state !== 'approved')
            await refused(() => provider.exchange(request.token, request.verifier ?? 'x'));
          else {
            const { user, token } = provider.exchange(request.token, String(request.verifier));
            expect(user).toBe(USERS[request.user as number]);
            request.state = 'gone';
            // Each grant has a separate access token.
            const generation = Number(request.generation);
            expect(tokens.get(generation) ?? token).toBe(token);
            tokens.set(generation, token);
            expect(new Set(tokens.values()).size).toBe(tokens.size);
            const isGood = [...grants.values()].includes(generation);
            const found = provider.grantWith(
              token,
              applications[request.application] as Application,
            );
            expect(found !== undefined && !found.revoked).toBe(isGood);
          }
        }
        for (const request of requests) {
          const isPending = isAlive(request) && request.state === 'pending';
          expect(provider.pending(request.token) !== undefined).toBe(isPending);
        }
        USERS.forEach((user, userNumber) => {
          applications.forEach((application, number) => {
            const isGranted = grants.has(`${userNumber} ${number}`);
            expect(provider.isGranted(user, application)).toBe(isGranted);
          });
        });
        expect(provider.grantsOf()).toHaveLength(grants.size);
      }),
    );
  });
});
