import { OptionError } from '../errors.js';
import { changeClock } from './change-clock.js';
import type { Compliance } from './compliance/compliance.js';
import type { ServiceContext } from './context.js';
import { isLoopbackHost } from './http/check-access.js';
import type { Fault } from './http/fault-kinds.js';
import { HttpProblem, searchErrorBody } from './http/http-problem.js';
import { parseJsonObject, readBody } from './http/request-body.js';
import { type HttpResponse, jsonResponse, type RequestContext, type Route } from './http/router.js';
import type { OAuthProvider } from './users/oauth-provider.js';

const MAX_BODY_BYTES = 64 * 1024;
/**
 * The maximum real time that a response waits for events due after the clock was moved, in
 * milliseconds.
 */
const MAX_SETTLE_MS = 2_000;

/**
 * The control path, by which a test controls a service in another process. GET shows, POST changes,
 * DELETE clears. It needs no credentials, but only accepts requests from this machine.
 */
export function controlRoutes(
  { clock, faults, settled }: ServiceContext,
  compliance: Compliance,
  oauth: OAuthProvider,
): readonly Route[] {
  const clockResponse = () =>
    jsonResponse(200, { now: new Date(clock.now()).toISOString(), frozen: clock.frozen });

  const plantFault = async (incoming: RequestContext) => {
    try {
      return jsonResponse(201, faults.plant((await readObject(incoming)) as unknown as Fault));
    } catch (error) {
      if (error instanceof OptionError) throw new HttpProblem(422, error.message);
      throw error;
    }
  };

  const injectEvent = async ({ request }: RequestContext) => {
    // Kept as text, because ids may not fit numbers.
    const event = (await readBody(request, MAX_BODY_BYTES)).toString();
    try {
      compliance.inject(event);
    } catch (error) {
      if (error instanceof OptionError) throw new HttpProblem(422, error.message);
      throw error;
    }
    return jsonResponse(201, {});
  };

  const revoke = async (userId?: string) => {
    let revoked = 0;
    for (const { user, application } of oauth.grantsOf())
      if ((userId ?? user.id) === user.id && (await oauth.revoke(user, application))) revoked++;
    return revoked;
  };

  const route = (
    pattern: string,
    methods: Readonly<
      Record<string, (incoming: RequestContext) => HttpResponse | Promise<HttpResponse>>
    >,
  ): Route => ({
    endpoint: 'control',
    methods: Object.keys(methods),
    pattern,
    errorBody: searchErrorBody,
    handle(incoming) {
      checkIsLocal(incoming);
      return (methods[incoming.method] as (incoming: RequestContext) => HttpResponse)(incoming);
    },
  });

  return [
    route('/_control/clock', {
      GET: clockResponse,
      async POST(incoming) {
        changeClock(clock, await readObject(incoming));
        await settled(MAX_SETTLE_MS);
        return clockResponse();
      },
      DELETE() {
        clock.reset();
        return clockResponse();
      },
    }),
    route('/_control/faults', {
      GET: () => jsonResponse(200, { faults: faults.list() }),
      POST: plantFault,
      DELETE: () => jsonResponse(200, { cleared: faults.clear() }),
    }),
    route('/_control/compliance', { POST: injectEvent }),
    route('/_control/grants', {
      GET: () => jsonResponse(200, { grants: oauth.grantsOf() }),
      DELETE: async () => jsonResponse(200, { revoked: await revoke() }),
    }),
    route('/_control/grants/:user', {
      async DELETE({ path }) {
        const revoked = await revoke(path.user);
        if (revoked === 0) throw new HttpProblem(404, `Not Found: no grants of user ${path.user}`);
        return jsonResponse(200, { revoked });
      },
    }),
    route('/_control/faults/:id', {
      DELETE({ path }) {
        const cleared = faults.clear(Number(path.id));
        if (cleared === 0) throw new HttpProblem(404, `Not Found: no fault with id ${path.id}`);
        return jsonResponse(200, { cleared });
      },
    }),
  ];
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
