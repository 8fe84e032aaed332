import { checkRule } from '../../rules/language/check-rule.js';
import { serviceMessage } from '../../rules/language/problem.js';
import type { ServiceContext } from '../context.js';
import { EventLoopYield } from '../event-loop-yield.js';
import { checkRate } from '../http/check-rate.js';
import { checkStreamPath } from '../http/check-stream.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import type { HttpResponse } from '../http/http-response.js';
import type { RateWindow } from '../http/rate-window.js';
import { readBody } from '../http/request-body.js';
import type { RequestContext, Route } from '../http/router.js';
import { type RequestedRule, readDeletion, readRuleIds, readRules } from './rule-requests.js';
import { addedView, deletedView, rulesView, validatedView } from './rule-views.js';
import type { RuleOutcome, StreamRules } from './stream-rules.js';

type Handler = (incoming: RequestContext) => Promise<HttpResponse>;

const BASE = '/rules/:product/accounts/:account/publishers/:publisher/:label';
/** `rulestream` is a placeholder for the product's name, `powertrack`; `-replay` is optional. */
const PRODUCTS = ['rulestream-replay', 'rulestream', 'powertrack-replay', 'powertrack'];

const CHANGES_EXCEEDED =
  'Your app has exceeded the limit on requests to add, delete, or list rules for this stream.';
const REQUESTS_EXCEEDED =
  'Your app has exceeded the limit on all requests for rules of this stream.';

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
  const { limits, streamLabel } = settings;
  const all = quotas.window('ruleReadRate');
  const changes = quotas.window('ruleChangeRate');
  const exceeded = (full: RateWindow) => (full === all ? REQUESTS_EXCEEDED : CHANGES_EXCEEDED);

  const list: Handler = async () => {
    checkRate([changes, all], exceeded);
    return { status: 200, body: rulesView(rules.all(), clock.now()) };
  };

  const add: Handler = async ({ request }) => {
    checkRate([changes, all], exceeded);
    checkIdle(connections());
    const requested = readRules(await readBody(request, limits.ruleChangeBytes));
    const checked = await checkAll(requested);
    const isInvalid = checked.some(({ message }) => message !== undefined);
    if (isInvalid) {
      // An add succeeds or fails as a whole.
      const rejected = checked.map(outcome => ({ ...outcome, done: false }));
      return { status: 422, body: addedView(rejected, clock.now()) };
    }
    // Again, because a replay may have connected during the check.
    checkIdle(connections());
    return { status: 201, body: addedView(await rules.add(requested), clock.now()) };
  };

  const remove: Handler = async ({ request }) => {
    checkRate([changes, all], exceeded);
    checkIdle(connections());
    const requested = readDeletion(await readBody(request, limits.ruleReadBytes));
    checkIdle(connections());
    const { deleted, missing } = await rules.delete(requested);
    return { status: 200, body: deletedView(deleted, missing, clock.now()) };
  };

  const getMany: Handler = async ({ request }) => {
    checkRate([all], exceeded);
    const ids = readRuleIds(await readBody(request, limits.ruleReadBytes));
    const found = [...new Set(ids)].flatMap(id => rules.find(id) ?? []);
    return { status: 200, body: rulesView(found, clock.now()) };
  };

  const getOne: Handler = async ({ path: { id = '' } }) => {
    checkRate([all], exceeded);
    const rule = rules.find(id);
    if (rule === undefined) throw new HttpProblem(404, `Not Found: the stream has no rule ${id}`);
    return { status: 200, body: rulesView([rule], clock.now()) };
  };

  const validate: Handler = async ({ request }) => {
    checkRate([all], exceeded);
    const requested = readRules(await readBody(request, limits.ruleChangeBytes));
    return { status: 200, body: validatedView(await checkAll(requested), clock.now()) };
  };

  const change: Handler = incoming => {
    const method = incoming.url.searchParams.get('_method')?.toLowerCase();
    if (method === undefined || method === 'post') return add(incoming);
    if (method === 'delete') return remove(incoming);
    if (method === 'get') return getMany(incoming);
    throw new HttpProblem(400, `Bad Request: _method is 'delete' or 'get', not '${method}'`);
  };

  const route = (pattern: string, methods: Readonly<Record<string, Handler>>): Route => ({
    endpoint: 'rules',
    methods: Object.keys(methods),
    pattern: BASE + pattern,
    errorBody: messageErrorBody,
    async handle(incoming) {
      checkStreamPath(incoming, settings, streamLabel);
      if (!PRODUCTS.includes(incoming.path.product ?? ''))
        throw new HttpProblem(404, 'Not Found: only the replay stream has rules here');
      await rules.open();
      return (methods[incoming.method] as Handler)(incoming);
    },
  });

  return [
    route('/rules/:id.json', { GET: getOne }),
    route('/validation.json', { POST: validate }),
    route('.json', { GET: list, POST: change, DELETE: remove }),
  ];
}

/** Rules cannot change while a replay uses them. */
function checkIdle(connections: number): void {
  if (connections === 0) return;
  const active =
    connections === 1 ? 'is 1 active connection' : `are ${connections} active connections`;
  throw new HttpProblem(
    406,
    'Rules cannot be added or deleted while a replay is connected to this stream. ' +
      `There ${active}.`,
  );
}

async function checkAll(requested: readonly RequestedRule[]): Promise<readonly RuleOutcome[]> {
  const outcomes: RuleOutcome[] = [];
  const work = new EventLoopYield();
  for (const rule of requested) {
    if (work.isDue) await work.pause();
    const { value, tag } = rule;
    const message = serviceMessage(checkRule(value, { product: 'replay', tag }).problems);
    outcomes.push(message === '' ? { ...rule, done: true } : { ...rule, done: false, message });
  }
  return outcomes;
}
