import { parseExact } from '../../json/exact-ids.js';
import { checkAccountAccess } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkRate, type RateWindow } from '../http/quotas.js';
import { parseJsonObject, readBody } from '../http/read-request.js';
import { type Handler, type Route, type RouteTable, routesOf } from '../http/router.js';
import {
  checkRuleSyntax,
  type KnownRule,
  outcomesText,
  type RequestedRule,
  readRule,
  rejected,
  ruleText,
  sentText,
  summaryText,
} from '../http/rule-bodies.js';
import type { Limits } from '../http/service-limits.js';
import type { ServiceContext } from '../service-context.js';
import type { RequestedRules } from './stream-rules.js';

const BASE = '/rules/:product/accounts/:account/publishers/:publisher/:label';
/** The values that `:product` may have. `rulestream` is another name of the product `powertrack`. */
const PRODUCTS = ['rulestream-replay', 'rulestream', 'powertrack-replay', 'powertrack'];

interface RuleParts extends Pick<ServiceContext, 'rules' | 'clock'> {
  readonly limits: Limits;
  /**
   * Counts a request towards `ruleReadRate`. If `isChange` is true, also counts it towards `ruleChangeRate`,
   * which limits requests that add, delete or list rules.
   *
   * @throws HttpProblem 429
   */
  checkRates(isChange: boolean): void;
}

/**
 * Returns the routes of the replay stream's rules. The checks are, in order:
 * 1. the credentials: 401;
 * 2. product, account, publisher and label: 404;
 * 3. `_method`: 400; the rate: 429;
 * 4. for add and delete, that no replay is connected: 406;
 * 5. the body: 413, 415, 400; the rules themselves: 422.
 */
export function rulesRoutes({ settings, clock, quotas, rules }: ServiceContext): readonly Route[] {
  const { limits, account, publisher, streamLabel: label } = settings;
  const all = quotas.window('ruleReadRate');
  const changes = quotas.window('ruleChangeRate');
  const exceeded = (full: RateWindow) => (full === all ? REQUESTS_EXCEEDED : CHANGES_EXCEEDED);
  const checkRates = (isChange: boolean) => checkRate(isChange ? [changes, all] : [all], exceeded);
  return routesOf({ endpoint: 'rules', errorBody: messageErrorBody }, TABLE, async incoming => {
    checkAccountAccess(incoming, settings, { product: PRODUCTS, account, publisher, label });
    await rules.open();
    return { rules, clock, limits, checkRates };
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

const add: Handler<RuleParts> = async ({ request }, { rules, clock, limits, checkRates }) => {
  checkRates(true);
  rules.checkIdle();
  const requested = readRules(await readBody(request, limits.ruleChangeBytes));
  const invalid = rejected(await checkRuleSyntax(requested, 'replay'));
  if (invalid !== undefined)
    return { status: 422, body: bytesOf(outcomesText(invalid, clock.now())) };
  // Checks again that no replay is connected, because one may have connected while the syntax was checked.
  rules.checkIdle();
  const added = await rules.add(requested);
  return { status: 201, body: bytesOf(outcomesText(added, clock.now())) };
};

const remove: Handler<RuleParts> = async ({ request }, { rules, clock, limits, checkRates }) => {
  checkRates(true);
  rules.checkIdle();
  const requested = readDeletion(await readBody(request, limits.ruleReadBytes));
  rules.checkIdle();
  const { deleted, missing } = await rules.delete(requested);
  // The details list only rules that did not exist.
  const details = missing.map(
    rule =>
      `{"rule":${'id' in rule ? `{"id":${rule.id}}` : ruleText(rule)},"deleted":false,"message":"Rule does not exist"}`,
  );
  const counts = `"deleted":${deleted},"not_deleted":${missing.length}`;
  return { status: 200, body: bytesOf(summaryText(counts, details, clock.now())) };
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
  const outcomes = await checkRuleSyntax(requested, 'replay');
  // Responses list valid rules first.
  const sorted = outcomes.toSorted((a, b) => Number(b.done) - Number(a.done));
  const text = outcomesText(sorted, clock.now(), ['valid', 'not_valid']);
  return { status: 200, body: bytesOf(text) };
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

/** Reads the body of a request that adds or validates rules: `{"rules":[{"value","tag"?}]}`. */
function readRules(body: Uint8Array): readonly RequestedRule[] {
  return rulesOf(objectOf(body).rules);
}

/** Reads the body of a request for rules by id: `{"rule_ids":[integer]}`. */
function readRuleIds(body: Uint8Array): readonly string[] {
  if (!Array.isArray(objectOf(body).rule_ids)) throw badBody();
  // Ids have 63 bits, so `JSON.parse` would round them.
  const { rule_ids: exact } = parseExact(body) as { readonly rule_ids: readonly unknown[] };
  if (!exact.every(isId)) throw badBody();
  return exact.map(String);
}

/**
 * Reads the body of a request that deletes rules, by `rules` or by `rule_ids`. A rule without a value is
 * accepted, but matches no rule of the stream.
 */
function readDeletion(body: Uint8Array): RequestedRules {
  const { rules, rule_ids: ids } = objectOf(body);
  if ((rules === undefined) === (ids === undefined)) throw badBody();
  return ids === undefined ? { rules: rulesOf(rules, false) } : { ids: readRuleIds(body) };
}

function rulesOf(given: unknown, needsValue = true): readonly RequestedRule[] {
  if (!Array.isArray(given)) throw badBody();
  return given.map(rule => {
    const read = readRule(rule, needsValue);
    if (read === undefined) throw badBody();
    return read;
  });
}

function objectOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  const given = parseJsonObject(body);
  if (given === undefined) throw badBody();
  return given;
}

/** Returns the error for a malformed body. The real service has the same message for all malformed bodies. */
function badBody(): HttpProblem {
  return new HttpProblem(
    400,
    'Invalid JSON. The body must be in the format ' +
      '{"rules":[{"value":"rule1", "tag":"tag1"}, {"value":"rule2"}]} or ' +
      '{"rule_ids": [rule_id1, rule_id2, rule_id3, rule_id4, rule_id5]}',
  );
}

/** Returns whether a value is an id. Some clients cannot write large integers, and send them as strings. */
function isId(id: unknown): boolean {
  return (typeof id === 'number' || typeof id === 'string') && /^(0|[1-9]\d*)$/.test(String(id));
}

const CHUNK_RULES = 1_000;

/** Returns the body of a response that lists rules: `{rules: [{value, tag, id}], sent}`. */
function rulesBody(rules: readonly KnownRule[], now: number): readonly Uint8Array[] {
  const chunks = [Buffer.from('{"rules":[')];
  for (let at = 0; at < rules.length; at += CHUNK_RULES) {
    const chunk = rules.slice(at, at + CHUNK_RULES).map(ruleText);
    chunks.push(Buffer.from((at === 0 ? '' : ',') + chunk.join(',')));
  }
  chunks.push(Buffer.from(`],"sent":${sentText(now)}}`));
  return chunks;
}

const bytesOf = (text: string): readonly Uint8Array[] => [Buffer.from(text)];
