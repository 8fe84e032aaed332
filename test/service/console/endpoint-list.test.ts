import { beforeAll, describe, expect, it, vi } from 'vitest';
import { listedEndpoints } from '../../../src/service/console/endpoint-list.js';
import { createRouter, type Route } from '../../../src/service/http/router.js';
import { createService } from '../../../src/service/index.js';

/** The routes of the service. They are recorded when the service creates them. */
const routes = vi.hoisted(() => [] as Route[]);
vi.mock('../../../src/service/http/request-listener.js', async original => {
  const { RequestListener } =
    await original<typeof import('../../../src/service/http/request-listener.js')>();
  return {
    RequestListener: class extends RequestListener {
      constructor(...args: ConstructorParameters<typeof RequestListener>) {
        super(...args);
        routes.splice(0, routes.length, ...args[0]);
      }
    },
  };
});

const JOBS = '/historical/:product/accounts/:account/publishers/:publisher/jobs';
const RULES = '/rules/:product/accounts/:account/publishers/:publisher/:label';
/** Routes that the overview does not list. The value is the reason. */
const NOT_LISTED: Readonly<Record<string, string>> = {
  [`GET ${JOBS}/:uuid.json`]: 'the page of the job has it',
  [`PUT ${JOBS}/:uuid.json`]: 'the page of the job has it',
  [`GET ${JOBS}/:uuid/results.json`]: 'the page of the job has it',
  [`GET ${JOBS}/:uuid/results.csv`]: 'the page of the job has it',
  [`GET ${JOBS}/:uuid/suspectMinutes.json`]: 'the page of the job has it',
  [`GET ${RULES}/rules/:id.json`]: 'needs the id of a rule',
  [`DELETE ${RULES}.json`]: 'needs a rule',
  [`POST ${RULES}/validation.json`]: 'adding a rule checks it, too',
  'GET /stream/compliance/accounts/:account/publishers/:publisher/:label.json':
    'another address of the same stream',
  'POST /oauth/access_token': 'a step of the sign-in',
  'GET /oauth/authenticate': 'a step of the sign-in',
  'POST /oauth/authenticate': 'a step of the sign-in',
  'GET /oauth/authorize': 'a step of the sign-in',
  'POST /oauth/authorize': 'a step of the sign-in',
  'GET /oauth/grants': 'a page for users',
  'POST /oauth/grants': 'a page for users',
};

describe('the endpoint list of the console', () => {
  const listed: string[] = [];

  beforeAll(async () => {
    await using service = createService({ account: 'a b', publisher: 'p&q' });
    const endpoints = listedEndpoints(await service.start(), service.clock.now());
    const route = createRouter(routes);
    for (const { address, method, name } of endpoints)
      for (const one of method.match(/GET|POST|PUT|DELETE/g) ?? []) {
        if (name.startsWith('Sign-in') && one === 'GET') continue; // the page of the next step
        const found = route(new URL(address).pathname)?.route;
        listed.push(
          `${one} ${found?.methods.includes(one) ? found.pattern : `of no route: ${name}`}`,
        );
      }
  });

  it('contains only endpoints that exist', () => {
    expect(listed.filter(one => one.includes('of no route'))).toEqual([]);
    expect(listed.length).toBeGreaterThan(15);
  });

  it('contains every endpoint of the service except those that NOT_LISTED explains', () => {
    const existing = routes
      .filter(({ endpoint }) => endpoint !== 'pages' && endpoint !== 'control')
      .flatMap(({ methods, pattern }) => methods.map(method => `${method} ${pattern}`));
    expect(existing.filter(one => !listed.includes(one)).toSorted()).toEqual(
      Object.keys(NOT_LISTED).toSorted(),
    );
  });
});
