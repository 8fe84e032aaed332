import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { ServiceContext } from '../context.js';
import type { BodyHit } from './faulty-body.js';
import { HttpProblem, searchErrorBody } from './http-problem.js';
import type { Outcome } from './request-log.js';
import {
  createRouter,
  type HttpResponse,
  jsonResponse,
  type RequestContext,
  type Route,
} from './router.js';
import { sendResponse } from './send-response.js';

export interface RequestListener {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Aborts all active requests. */
  stop(): void;
}

/**
 * Handles each request of a server. The order of checks that all families share:
 * 1. one `Host`: 400;
 * 2. the path: 404;
 * 3. a planted fault, which comes before any check of the service itself;
 * 4. the method: 405;
 * 5. that the query is UTF-8: 400;
 * 6. the checks of the family.
 */
export function createRequestListener(
  routes: readonly Route[],
  context: ServiceContext,
): RequestListener {
  const find = createRouter(routes);
  const active = new Set<AbortController>();

  const respond = async (
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> => {
    const url = urlOf(request);
    const method = request.method === 'HEAD' ? 'GET' : String(request.method);
    const routed = url && find(url.pathname);
    let answer: HttpResponse;
    let bodyHit: BodyHit | undefined;
    let fault: string | undefined;
    const began = performance.now();
    const update = beginLog(request, url, routed?.route);
    // Only the `close` event shows whether the whole response was sent.
    response.on('close', () =>
      update({ isCut: !response.writableFinished, tookMs: performance.now() - began }),
    );
    try {
      checkHosts(request);
      if (url === undefined || routed === undefined)
        throw new HttpProblem(404, 'Not Found: there is nothing at this address');
      const { route, path } = routed;
      const faults = context.faults.match(route.endpoint, url.pathname + url.search);
      fault = [faults.delay?.kind, faults.other?.kind].filter(Boolean).join(', ') || undefined;
      if (faults.delay !== undefined) await setTimeout(faults.delay.ms, undefined, { signal });
      let bucketsUntilTimeout: number | undefined;
      const { other } = faults;
      if (other?.kind === 'status') throw plantedProblem(other);
      else if (other?.kind === 'counts-timeout') bucketsUntilTimeout = other.buckets;
      else if (other !== undefined)
        bodyHit = { fault: other, tookEffect: () => context.faults.tookEffect(other) };
      if (!route.methods.includes(method))
        throw new HttpProblem(405, `Method Not Allowed: use ${route.methods.join(' or ')}`, {
          Allow: route.methods.join(', '),
        });
      checkQuery(request);
      const incoming: RequestContext = { request, method, url, path, signal, bucketsUntilTimeout };
      answer = await route.handle(incoming);
    } catch (error) {
      if (signal.aborted) {
        update({ fault });
        return;
      }
      answer = errorAnswer(error, method, routed?.route);
    }
    update({
      fault,
      status: answer.status,
      quotas: routed && context.quotas.left(routed.route.endpoint),
    });
    await sendResponse(response, answer, bodyHit, signal);
  };

  const beginLog = (
    request: IncomingMessage,
    url: URL | undefined,
    route: Route | undefined,
  ): ((outcome: Outcome) => void) => {
    const endpoint = route?.endpoint;
    if (!(route?.isLogged ?? endpoint !== 'pages')) return () => {};
    return context.requests.begin({
      at: context.clock.now(),
      method: String(request.method),
      address: url === undefined ? '' : url.pathname + url.search,
      endpoint,
    });
  };

  const errorAnswer = (error: unknown, method: string, route: Route | undefined): HttpResponse => {
    const now = context.clock.now();
    const problem = error instanceof HttpProblem ? error : internalError(error);
    if (route?.errorPage !== undefined) return route.errorPage(problem);
    const errorBody = route?.errorBody ?? searchErrorBody;
    return jsonResponse(problem.status, errorBody(problem.message, now, method), problem.headers);
  };

  const internalError = (error: unknown): HttpProblem => {
    context.settings.onError(error);
    const reason = error instanceof Error ? error.message : String(error);
    return new HttpProblem(500, `Internal Server Error: ${reason}`);
  };

  return {
    handle(request, response) {
      const controller = new AbortController();
      // Clients take the service's time from this header.
      response.setHeader('Date', new Date(context.clock.now()).toUTCString());
      active.add(controller);
      response.on('close', () => {
        active.delete(controller);
        controller.abort(new Error('The client has gone'));
      });
      // An unread rest of the body must not block the connection.
      response.on('finish', () => request.resume());
      respond(request, response, controller.signal).catch(error => {
        if (!controller.signal.aborted && !isOfGoneClient(error)) context.settings.onError(error);
        response.destroy();
      });
    },
    stop() {
      for (const controller of active) controller.abort(new Error('The service stops'));
    },
  };
}

/** A write may be the first call to notice that the client has disconnected. */
function isOfGoneClient(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(String(error.code));
}

function urlOf(request: IncomingMessage): URL | undefined {
  // Only the target: the host does not matter for the path.
  const target = request.url ?? '';
  return target.startsWith('/') ? new URL(`http://localhost${target}`) : undefined;
}

/** RFC 9112 section 3.2 forbids two. Node takes the first, so the check of the host could be evaded. */
function checkHosts({ rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new HttpProblem(400, 'Bad Request: there are two Host headers');
}

/** A query that is not UTF-8 would be decoded to other characters than the client meant. */
function checkQuery({ url = '' }: IncomingMessage): void {
  const query = url.slice(url.indexOf('?') + 1);
  const decoded = query.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (url.includes('?') && !isUtf8(Buffer.from(decoded, 'latin1')))
    throw new HttpProblem(400, 'Bad Request: the query of the address is not UTF-8');
}

const STATUS_MESSAGES: Record<number, string> = {
  429: 'Exceeded rate limit',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

function plantedProblem({
  status,
  message = STATUS_MESSAGES[status] ?? 'Planted fault',
  retryAfter,
}: {
  status: number;
  message?: string | undefined;
  retryAfter?: number | undefined;
}): HttpProblem {
  return new HttpProblem(
    status,
    message,
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  );
}
