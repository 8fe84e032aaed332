import type { Clock } from '../clock.js';
import type { ServiceContext } from '../context.js';
import { checkAccess } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkRate, type RateWindow } from '../http/quotas.js';
import { readBody } from '../http/request-body.js';
import { type Handler, type Route, type RouteTable, routesOf } from '../http/router.js';
import { checkRules, rejected } from '../http/rule-outcomes.js';
import type { Limits } from '../http/service-limits.js';
import {
  addedBody,
  deletedBody,
  readDeletion,
  readRuleIds,
  readRules,
  rulesBody,
  validatedBody,
} from './rule-bodies.js';
import type { StreamRules } from './stream-rules.js';

const BASE = '/rules/:product/accounts/:account/publishers/:publisher/:label';
/** `rulestream` is a placeholder for the product's name, `powertrack`; `-replay` is optional. */
const PRODUCTS = ['rulestream-replay', 'rulestream', 'powertrack-replay', 'powertrack'];

interface RuleParts {
  readonly rules: StreamRules;
  readonly clock: Clock;
  readonly limits: Limits;
  /** The number of open replays of the stream. */
  connections(): number;
  /** Counts a request; `isChange` for one that adds, deletes or lists. */
  checkRates(isChange: boolean): void;
}

/**
 * The rules of the replay stream. The order of checks:
 * 1. the credentials: 401;
 * 2. product, account, publisher and label: 404;
 * 3. `_method`: 400; the rate: 429;
 * 4. for add and delete, that no replay is connected: 406;
 * 5. the body: 413, 415, 400; the rules themselves: 422.
 *
 * @param connections The number of open replays of the stream.
 */
export function rulesRoutes(
  { settings, clock, quotas }: ServiceContext,
  rules: StreamRules,
  connections: () => number,
): readonly Route[] {
  const { limits, account, publisher, streamLabel: label } = settings;
  const all = quotas.window('ruleReadRate');
  const changes = quotas.window('ruleChangeRate');
  const exceeded = (full: RateWindow) => (full === all ? REQUESTS_EXCEEDED : CHANGES_EXCEEDED);
  const checkRates = (isChange: boolean) => checkRate(isChange ? [changes, all] : [all], exceeded);
  return routesOf({ endpoint: 'rules', errorBody: messageErrorBody }, TABLE, async incoming => {
    checkAccess(incoming, settings, { product: PRODUCTS, account, publisher, label });
    await rules.open();
    return { rules, clock, limits, connections, checkRates };
  });
}

const CHANGES_EXCEEDED =
  'Your app has exceeded the limit on requests to add, delete, or list rules for this stream.';
const REQUESTS_EXCEEDED =
  'Your app has exceeded the limit on all requests for rules of this stream.';

const list: Handler<RuleParts> = (_, { rules, clock, checkRates }) => {
  checkRates(true);
  return { status: 200, body: rulesBody(rules.all(), clock.now()) };
};

const add: Handler<RuleParts> = async ({ request }, parts) => {
  const { rules, clock, limits } = parts;
  parts.checkRates(true);
  checkIdle(parts.connections());
  const requested = readRules(await readBody(request, limits.ruleChangeBytes));
  const invalid = rejected(await checkRules(requested, 'replay'));
  if (invalid !== undefined) return { status: 422, body: addedBody(invalid, clock.now()) };
  // Again, because a replay may have connected during the check.
  checkIdle(parts.connections());
  return { status: 201, body: addedBody(await rules.add(requested), clock.now()) };
};

const remove: Handler<RuleParts> = async ({ request }, parts) => {
  parts.checkRates(true);
  checkIdle(parts.connections());
  const requested = readDeletion(await readBody(request, parts.limits.ruleReadBytes));
  checkIdle(parts.connections());
  const { deleted, missing } = await parts.rules.delete(requested);
  return { status: 200, body: deletedBody(deleted, missing, parts.clock.now()) };
};

const getMany: Handler<RuleParts> = async ({ request }, { rules, clock, limits, checkRates }) => {
  checkRates(false);
  const ids = readRuleIds(await readBody(request, limits.ruleReadBytes));
  const found = [...new Set(ids)].flatMap(id => rules.find(id) ?? []);
  return { status: 200, body: rulesBody(found, clock.now()) };
};

const getOne: Handler<RuleParts> = ({ path: { id = '' } }, { rules, clock, checkRates }) => {
  checkRates(false);
  const rule = rules.find(id);
  if (rule === undefined) throw new HttpProblem(404, `Not Found: the stream has no rule ${id}`);
  return { status: 200, body: rulesBody([rule], clock.now()) };
};

const validate: Handler<RuleParts> = async ({ request }, { clock, limits, checkRates }) => {
  checkRates(false);
  const requested = readRules(await readBody(request, limits.ruleChangeBytes));
  return { status: 200, body: validatedBody(await checkRules(requested, 'replay'), clock.now()) };
};

const change: Handler<RuleParts> = (incoming, parts) => {
  const method = incoming.url.searchParams.get('_method')?.toLowerCase();
  if (method === undefined || method === 'post') return add(incoming, parts);
  if (method === 'delete') return remove(incoming, parts);
  if (method === 'get') return getMany(incoming, parts);
  throw new HttpProblem(400, `Bad Request: _method is 'delete' or 'get', not '${method}'`);
};

const TABLE: RouteTable<RuleParts> = {
  [`${BASE}/rules/:id.json`]: { GET: getOne },
  [`${BASE}/validation.json`]: { POST: validate },
  [`${BASE}.json`]: { GET: list, POST: change, DELETE: remove },
};

/** Rules cannot change while a replay uses them. @throws HttpProblem 406 */
export function checkIdle(count: number): void {
  if (count === 0) return;
  const active = count === 1 ? 'is 1 active connection' : `are ${count} active connections`;
  throw new HttpProblem(
    406,
    'Rules cannot be added or deleted while a replay is connected to this stream. ' +
      `There ${active}.`,
  );
}
