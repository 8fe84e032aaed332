import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { ServiceContext } from '../context.js';
import type { Endpoint } from './endpoints.js';
import type { BodyFault } from './fault-kinds.js';
import { HttpProblem, searchErrorBody } from './http-problem.js';
import { type HttpResponse, jsonResponse } from './http-response.js';
import type { Outcome } from './request-log.js';
import { createRouter, type RequestContext, type Route } from './router.js';
import { sendResponse } from './send-response.js';

export interface RequestListener {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Lets go of every request under way. */
  stop(): void;
}

/**
 * Where each request comes in. The order of checks, as far as all families share it:
 * 1. one `Host`: 400;
 * 2. the path: 404;
 * 3. a planted fault, which comes before anything the service would say itself;
 * 4. the method: 405;
 * 5. that the query is UTF-8: 400;
 * 6. what the family checks.
 */
export function createRequestListener(
  routes: readonly Route[],
  context: ServiceContext,
): RequestListener {
  const find = createRouter(routes);
  const underWay = new Set<AbortController>();

  const respond = async (
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> => {
    const url = urlOf(request);
    const method = request.method === 'HEAD' ? 'GET' : String(request.method);
    const routed = url && find(url.pathname);
    let answer: HttpResponse;
    let bodyFault: BodyFault | undefined;
    let fault: string | undefined;
    const began = performance.now();
    const note = beginLog(request, url, routed?.route.endpoint);
    // Only then it is certain that all of an answer was taken.
    response.on('close', () =>
      note({ isCut: !response.writableFinished, tookMs: performance.now() - began }),
    );
    try {
      checkHosts(request);
      if (url === undefined || routed === undefined)
        throw new HttpProblem(404, 'Not Found: there is nothing at this address');
      const { route, path } = routed;
      const met = context.faults.match(route.endpoint, url.pathname + url.search);
      fault = [met.delay?.kind, met.other?.kind].filter(Boolean).join(', ') || undefined;
      if (met.delay !== undefined) await setTimeout(met.delay.ms, undefined, { signal });
      let bucketsUntilTimeout: number | undefined;
      if (met.other?.kind === 'status') throw plantedRefusal(met.other);
      else if (met.other?.kind === 'counts-timeout') bucketsUntilTimeout = met.other.buckets;
      else bodyFault = met.other;
      if (!route.methods.includes(method))
        throw new HttpProblem(405, `Method Not Allowed: use ${route.methods.join(' or ')}`, {
          Allow: route.methods.join(', '),
        });
      checkQuery(request);
      const incoming: RequestContext = { request, method, url, path, signal, bucketsUntilTimeout };
      answer = await route.handle(incoming);
    } catch (error) {
      if (signal.aborted) {
        note({ fault });
        return;
      }
      answer = errorAnswer(error, method, routed?.route);
    }
    note({
      fault,
      status: answer.status,
      quotas: routed && context.quotas.left(routed.route.endpoint),
    });
    await sendResponse(response, answer, bodyFault, signal);
  };

  const beginLog = (
    request: IncomingMessage,
    url: URL | undefined,
    endpoint: Endpoint | undefined,
  ): ((known: Outcome) => void) => {
    if (endpoint === 'pages') return () => {};
    return context.requests.begin({
      at: context.clock.now(),
      method: String(request.method),
      address: url === undefined ? '' : url.pathname + url.search,
      endpoint,
    });
  };

  const errorAnswer = (error: unknown, method: string, route: Route | undefined): HttpResponse => {
    const now = context.clock.now();
    const refusal = error instanceof HttpProblem ? error : internalError(error);
    if (route?.errorPage !== undefined) return route.errorPage(refusal);
    const errorBody = route?.errorBody ?? searchErrorBody;
    return jsonResponse(refusal.status, errorBody(refusal.message, now, method), refusal.headers);
  };

  const internalError = (error: unknown): HttpProblem => {
    context.settings.onError(error);
    const reason = error instanceof Error ? error.message : String(error);
    return new HttpProblem(500, `Internal Server Error: ${reason}`);
  };

  return {
    handle(request, response) {
      const controller = new AbortController();
      // Clients learn the service's time from here.
      response.setHeader('Date', new Date(context.clock.now()).toUTCString());
      underWay.add(controller);
      response.on('close', () => {
        underWay.delete(controller);
        controller.abort(new Error('The client has gone'));
      });
      // Whatever is left of a body that no one asked for must not block the connection.
      response.on('finish', () => request.resume());
      respond(request, response, controller.signal).catch(error => {
        if (!controller.signal.aborted && !isOfGoneClient(error)) context.settings.onError(error);
        response.destroy();
      });
    },
    stop() {
      for (const controller of underWay) controller.abort(new Error('The service stops'));
    },
  };
}

/** A write may be the first to learn that the client has gone. */
function isOfGoneClient(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(String(error.code));
}

function urlOf(request: IncomingMessage): URL | undefined {
  // The target alone: a host in it, or in the header, says nothing about the path.
  const target = request.url ?? '';
  return target.startsWith('/') ? new URL(`http://localhost${target}`) : undefined;
}

/** RFC 9112 section 3.2. Node takes the first of two, so the check of the host would depend on it. */
function checkHosts({ rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new HttpProblem(400, 'Bad Request: there are two Host headers');
}

/** A query that is not UTF-8 would be searched for with other characters than were meant. */
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

function plantedRefusal({
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
