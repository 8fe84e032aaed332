import type { Activity } from '../activity/activity.js';
import { OptionError } from '../errors.js';
import type { Compliance } from './compliance/compliance-events.js';
import type { ServiceContext } from './context.js';
import { isLoopbackHost } from './http/check-access.js';
import type { Fault } from './http/fault-kinds.js';
import { HttpProblem, searchErrorBody } from './http/http-problem.js';
import { parseJsonObject, readBody } from './http/request-body.js';
import {
  type Handler,
  type HttpResponse,
  jsonResponse,
  type RequestContext,
  type Route,
  type RouteTable,
  routesOf,
} from './http/router.js';
import type { Posts } from './posts/posts.js';
import { splitPosts } from './posts/read-given.js';
import type { OAuthProvider, UserGrant } from './users/oauth-provider.js';

const MAX_BODY_BYTES = 64 * 1024;
/** The maximum size of posts that are added together. */
const MAX_POSTS_BYTES = 16 * 1024 * 1024;
/**
 * The maximum real time that a response waits for events due after the clock was moved, in
 * milliseconds.
 */
const MAX_SETTLE_MS = 2_000;

interface ControlParts extends Pick<ServiceContext, 'clock' | 'faults' | 'settled'> {
  readonly posts: Posts;
  readonly compliance: Compliance;
  readonly oauth: OAuthProvider;
}

/**
 * The control path, by which a test controls a service in another process. GET shows, POST changes,
 * DELETE clears. It needs no credentials, but only accepts requests from this machine.
 */
export function controlRoutes(
  { clock, faults, settled }: ServiceContext,
  { posts, compliance, oauth }: Pick<ControlParts, 'posts' | 'compliance' | 'oauth'>,
): readonly Route[] {
  return routesOf({ endpoint: 'control', errorBody: searchErrorBody }, TABLE, incoming => {
    checkIsLocal(incoming);
    return { clock, faults, settled, posts, compliance, oauth };
  });
}

const showClock: Handler<ControlParts> = (_, { clock }) =>
  jsonResponse(200, { now: new Date(clock.now()).toISOString(), frozen: clock.frozen });

const moveClock: Handler<ControlParts> = async (incoming, parts) => {
  const change = await readObject(incoming);
  checked(() => parts.clock.change(change));
  await parts.settled(MAX_SETTLE_MS);
  return showClock(incoming, parts);
};

const resetClock: Handler<ControlParts> = (incoming, parts) => {
  parts.clock.reset();
  return showClock(incoming, parts);
};

const plantFault: Handler<ControlParts> = async (incoming, { faults }) => {
  const fault = (await readObject(incoming)) as unknown as Fault;
  return jsonResponse(
    201,
    checked(() => faults.plant(fault)),
  );
};

const clearFault: Handler<ControlParts> = ({ path }, { faults }) => {
  const cleared = faults.clear(Number(path.id));
  if (cleared === 0) throw new HttpProblem(404, `Not Found: no fault with id ${path.id}`);
  return jsonResponse(200, { cleared });
};

const listPosts: Handler<ControlParts> = (_, { posts }) => postsResponse(200, posts.list());

const addPosts: Handler<ControlParts> = async ({ request }, { posts }) => {
  const body = await readBody(request, MAX_POSTS_BYTES);
  return postsResponse(
    201,
    checked(() => posts.add(splitPosts(body))),
  );
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

/** Posts with their exact bytes. */
function postsResponse(status: number, posts: readonly Activity[]): HttpResponse {
  const lines = posts.flatMap(({ raw }, i) => (i === 0 ? [raw] : [Buffer.from(','), raw]));
  return { status, headers: {}, body: [Buffer.from('{"posts":['), ...lines, Buffer.from(']}')] };
}

const injectEvent: Handler<ControlParts> = async ({ request }, { compliance }) => {
  // Kept as text, because ids may not fit numbers.
  const event = (await readBody(request, MAX_BODY_BYTES)).toString();
  checked(() => compliance.inject(event));
  return jsonResponse(201, {});
};

const revokeAll: Handler<ControlParts> = async (_, { oauth }) =>
  jsonResponse(200, { revoked: await revoke(oauth, oauth.grantsOf()) });

const revokeOfUser: Handler<ControlParts> = async ({ path }, { oauth }) => {
  const revoked = await revoke(oauth, oauth.grantsOf({ id: path.user ?? '' }));
  if (revoked === 0) throw new HttpProblem(404, `Not Found: no grants of user ${path.user}`);
  return jsonResponse(200, { revoked });
};

const TABLE: RouteTable<ControlParts> = {
  '/_control/clock': { GET: showClock, POST: moveClock, DELETE: resetClock },
  '/_control/faults': {
    GET: (_, { faults }) => jsonResponse(200, { faults: faults.list() }),
    POST: plantFault,
    DELETE: (_, { faults }) => jsonResponse(200, { cleared: faults.clear() }),
  },
  '/_control/faults/:id': { DELETE: clearFault },
  '/_control/posts': { GET: listPosts, POST: addPosts },
  '/_control/posts/:id': { DELETE: deletePost },
  '/_control/compliance': { POST: injectEvent },
  '/_control/grants': {
    GET: (_, { oauth }) => jsonResponse(200, { grants: oauth.grantsOf() }),
    DELETE: revokeAll,
  },
  '/_control/grants/:user': { DELETE: revokeOfUser },
};

async function revoke(oauth: OAuthProvider, grants: readonly UserGrant[]): Promise<number> {
  let revoked = 0;
  for (const { user, application } of grants) if (await oauth.revoke(user, application)) revoked++;
  return revoked;
}

/** @throws HttpProblem 422 for what is not valid. */
function checked<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof OptionError ? new HttpProblem(422, error.message) : error;
  }
}

/**
 * Accepts programs on this machine, but not web pages: a page of another site sends an `Origin`,
 * and a page whose host name resolves to this machine sends that name as `Host`.
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

async function readObject({ request }: RequestContext): Promise<Record<string, unknown>> {
  const body = parseJsonObject(await readBody(request, MAX_BODY_BYTES));
  if (body === undefined) throw new HttpProblem(400, 'Expected a JSON object');
  return body;
}
