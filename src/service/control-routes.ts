import { IncompleteError, OptionError } from '../base/errors.js';
import type { Activity } from '../post/activity.js';
import type { Addresses } from './http/addresses.js';
import { isBearer, isLoopbackHost, originOf } from './http/check-access.js';
import type { Fault } from './http/fault-types.js';
import { HttpProblem, searchErrorBody } from './http/http-problem.js';
import { parseJsonObject, readBody } from './http/read-request.js';
import { type RequestFilter, requestEntries, waitForRequests } from './http/request-log.js';
import {
  type Handler,
  type HandlerResponse,
  jsonResponse,
  type RequestContext,
  type Route,
  type RouteTable,
  routesOf,
} from './http/router.js';
import { splitPosts } from './posts/read-given.js';
import type { ServiceContext } from './service-context.js';
import type { User } from './users/grants.js';
import type { OAuthProvider } from './users/oauth-provider.js';

const MAX_BODY_BYTES = 64 * 1024;
const MAX_POSTS_BYTES = 16 * 1024 * 1024;
/** The maximum size in bytes of a snapshot of the service. A snapshot contains the files of all jobs. */
const MAX_SNAPSHOT_BYTES = 1024 * 1024 * 1024;
/**
 * The maximum time that the response to a change of the clock waits for jobs to reach the states that are now
 * due, in milliseconds of real time.
 */
const MAX_SETTLE_MS = 2_000;

export interface ControlledService {
  readonly service: {
    /** The arguments are `unknown`, because they come from a request. The methods validate them. */
    reset(...parts: readonly unknown[]): Promise<unknown>;
    restore(snapshot: unknown): Promise<void>;
    snapshot(): Promise<unknown>;
  };
  whyNotReady(): Promise<string | undefined>;
  /**
   * Returns the URLs of the service and the credentials that it accepts.
   *
   * @param origin The origin of the returned URLs. The default is the origin that the service itself knows.
   */
  addresses(origin: string | undefined): Addresses;
}

type ControlParts = ServiceContext & ControlledService;

/**
 * Returns the HTTP routes below `/_control`, by which a test controls a service in another process. If the
 * service has no token, these routes only accept requests from this machine.
 */
export function controlRoutes(
  context: ServiceContext,
  service: ControlledService,
): readonly Route[] {
  const family = { endpoint: 'control', errorBody: searchErrorBody } as const;
  const { token } = context.settings;
  const parts = { ...context, ...service };
  return [
    ...routesOf(family, HEALTH, incoming => {
      if (token === undefined) checkIsLocal(incoming);
      return parts;
    }),
    ...routesOf(family, TABLE, incoming => {
      if (token === undefined) checkIsLocal(incoming);
      else checkToken(incoming, token);
      return parts;
    }),
  ];
}

const showAddresses: Handler<ControlParts> = ({ request }, { addresses, settings }) =>
  jsonResponse(200, addresses(originOf(request, settings)));

const showClock: Handler<ControlParts> = (_, { clock }) =>
  jsonResponse(200, { now: new Date(clock.now()).toISOString(), frozen: clock.frozen });

const moveClock: Handler<ControlParts> = async (incoming, parts) => {
  const change = await readObject(incoming);
  await checked(() => parts.clock.change(change));
  await parts.settled(MAX_SETTLE_MS);
  return showClock(incoming, parts);
};

const resetClock: Handler<ControlParts> = (incoming, parts) => {
  parts.clock.reset();
  return showClock(incoming, parts);
};

const plantFault: Handler<ControlParts> = async (incoming, { faults }) => {
  const fault = (await readObject(incoming)) as unknown as Fault;
  const planted = await checked(() => faults.plant(fault));
  return jsonResponse(201, planted);
};

const clearFault: Handler<ControlParts> = ({ path }, { faults }) => {
  const cleared = faults.clear(Number(path.id));
  if (cleared === 0) throw new HttpProblem(404, `Not Found: no fault with id ${path.id}`);
  return jsonResponse(200, { cleared });
};

const listPosts: Handler<ControlParts> = (_, { posts }) => postsResponse(200, posts.list());

const addPosts: Handler<ControlParts> = async ({ request }, { posts }) => {
  const body = await readBody(request, MAX_POSTS_BYTES);
  const added = await checked(() => posts.add(splitPosts(body)));
  if (added.length === 0 && !body.includes('['))
    throw new HttpProblem(
      422,
      'There is no post in the body: expected one, an array, or one a line',
    );
  return postsResponse(201, added);
};

const deletePost: Handler<ControlParts> = ({ path: { id = '' } }, { posts }) => {
  try {
    posts.delete(id);
  } catch (error) {
    throw error instanceof OptionError
      ? new HttpProblem(404, `Not Found: ${error.message}`)
      : error;
  }
  return jsonResponse(200, { deleted: id });
};

/** Returns a response with the raw JSON of posts, because parsing and printing it again could change it. */
function postsResponse(status: number, posts: readonly Activity[]): HandlerResponse {
  const lines = posts.flatMap(({ raw }, i) => (i === 0 ? [raw] : [Buffer.from(','), raw]));
  return { status, headers: {}, body: [Buffer.from('{"posts":['), ...lines, Buffer.from(']}')] };
}

const health: Handler<ControlParts> = async ({ request }, { clock, whyNotReady, settings }) => {
  const reason = await whyNotReady();
  const now = new Date(clock.now()).toISOString();
  // A client that is not trusted is only told whether the service is ready.
  const isTrusted =
    settings.token === undefined || isBearer(request.headers.authorization, settings.token);
  return jsonResponse(reason === undefined ? 200 : 503, {
    ready: reason === undefined,
    ...(isTrusted && { reason, now }),
  });
};

/** A separate table, because this route needs no token: health checks have none. */
const HEALTH: RouteTable<ControlParts> = { '/_control/health': { GET: health } };

const reset: Handler<ControlParts> = async ({ request }, { service }) => {
  const body = await readBody(request, MAX_BODY_BYTES);
  const { parts = [], ...rest } = body.length === 0 ? {} : (parseJsonObject(body) ?? { body });
  const [stray] = Object.keys(rest);
  if (stray !== undefined || !Array.isArray(parts))
    throw new HttpProblem(400, 'Expected no body, or {"parts":["faults","clock"]}');
  return jsonResponse(200, { reset: await checked(() => service.reset(...parts)) });
};

const restore: Handler<ControlParts> = async ({ request }, { service }) => {
  const snapshot = parseJsonObject(await readBody(request, MAX_SNAPSHOT_BYTES));
  await checked(() => service.restore(snapshot));
  return jsonResponse(200, { restored: true });
};

const listRequests: Handler<ControlParts> = async ({ url, signal }, { requests: log }) => {
  const { status, after, count, timeoutMs, ...texts } = Object.fromEntries(url.searchParams);
  const filter = { ...texts, ...numbersOf({ status, after }) } as RequestFilter;
  const isWaiting = count !== undefined || timeoutMs !== undefined;
  const wait = { ...filter, ...numbersOf({ count, timeoutMs }) };
  const requests = await checked(() =>
    isWaiting ? waitForRequests(log, wait, signal) : requestEntries(log, filter),
  );
  return jsonResponse(200, { requests });
};

/**
 * Converts digits in the query to numbers. Other text stays text. The validation of options then refuses it
 * with the name of the option.
 */
function numbersOf(texts: Readonly<Record<string, string | undefined>>): object {
  const numbers: Record<string, number | string> = {};
  for (const [name, text] of Object.entries(texts))
    if (text !== undefined) numbers[name] = /^\d+$/.test(text) ? Number(text) : text;
  return numbers;
}

const injectEvent: Handler<ControlParts> = async ({ request }, { compliance }) => {
  // The event is kept as text, because its ids may not fit in numbers.
  const event = (await readBody(request, MAX_BODY_BYTES)).toString();
  await checked(() => compliance.inject(event));
  return jsonResponse(201, {});
};

const revokeOfUser: Handler<ControlParts> = async ({ path }, { oauth }) => {
  const revoked = await revoke(oauth, { id: path.user ?? '' });
  if (revoked === 0) throw new HttpProblem(404, `Not Found: no grants of user ${path.user}`);
  return jsonResponse(200, { revoked });
};

const TABLE: RouteTable<ControlParts> = {
  '/_control/addresses': { GET: showAddresses },
  '/_control/clock': { GET: showClock, POST: moveClock, DELETE: resetClock },
  '/_control/faults': {
    GET: (_, { faults }) => jsonResponse(200, { faults: faults.list() }),
    POST: plantFault,
    DELETE: (_, { faults }) => jsonResponse(200, { cleared: faults.clear() }),
  },
  '/_control/faults/:id': { DELETE: clearFault },
  '/_control/reset': { POST: reset },
  '/_control/snapshot': {
    GET: async (_, { service }) => jsonResponse(200, await service.snapshot()),
    PUT: restore,
  },
  '/_control/requests': { GET: listRequests },
  '/_control/posts': { GET: listPosts, POST: addPosts },
  '/_control/posts/:id': { DELETE: deletePost },
  '/_control/compliance': { POST: injectEvent },
  '/_control/grants': {
    GET: (_, { oauth }) => jsonResponse(200, { grants: oauth.grantsOf() }),
    DELETE: async (_, { oauth }) => jsonResponse(200, { revoked: await revoke(oauth) }),
  },
  '/_control/grants/:user': { DELETE: revokeOfUser },
};

async function revoke(oauth: OAuthProvider, user?: Pick<User, 'id'>): Promise<number> {
  let revoked = 0;
  for (const { user: owner, application } of oauth.grantsOf(user))
    if (await oauth.revoke(owner, application)) revoked++;
  return revoked;
}

/** @throws HttpProblem 422 for invalid values, 408 if an awaited event has not happened in time. */
async function checked<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OptionError) throw new HttpProblem(422, error.message);
    throw error instanceof IncompleteError ? new HttpProblem(408, error.message) : error;
  }
}

/**
 * Accepts programs on this machine, but not web pages. A page of another site sends an `Origin`. A page whose
 * host name resolves to this machine sends that name as `Host`.
 */
function checkIsLocal({ request }: RequestContext): void {
  const from = request.socket.remoteAddress ?? '';
  const isLocal = /^(::ffff:)?127\./.test(from) || from === '::1';
  if (!isLocal || !isLoopbackHost(request.headers.host) || request.headers.origin !== undefined)
    throw new HttpProblem(
      403,
      'Forbidden: the control path answers to programs of this machine only',
    );
}

/**
 * Checks the token, which a page of another site does not know. Refuses any request with an `Origin`, so that
 * a page that has obtained the token cannot use it.
 */
function checkToken({ request }: RequestContext, token: string): void {
  const { authorization, origin } = request.headers;
  if (origin !== undefined)
    throw new HttpProblem(403, 'Forbidden: the control path answers to no web page');
  if (!isBearer(authorization, token))
    throw new HttpProblem(
      401,
      'Unauthorized: the control path needs the token that the service printed when it started, as Authorization: Bearer TOKEN',
      { 'WWW-Authenticate': 'Bearer realm="millrace"' },
    );
}

async function readObject({ request }: RequestContext): Promise<Record<string, unknown>> {
  const body = parseJsonObject(await readBody(request, MAX_BODY_BYTES));
  if (body === undefined) throw new HttpProblem(400, 'Expected a JSON object');
  return body;
}
