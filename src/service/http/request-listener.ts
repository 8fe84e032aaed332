import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { isNodeError } from '../../base/errors.js';
import { getOrMake } from '../cache.js';
import type { ServiceContext } from '../service-context.js';
import type { StatusFault } from './fault-types.js';
import { HttpProblem, searchErrorBody } from './http-problem.js';
import type { MatchedFaults } from './planted-faults.js';
import { bodyOf, parseJsonObject } from './read-request.js';
import type { RequestOutcome } from './request-log.js';
import {
  createRouter,
  type HandlerResponse,
  jsonResponse,
  type RequestContext,
  type Route,
  type RoutedPath,
} from './router.js';
import { type BodyHit, sendResponse } from './send-response.js';

/**
 * Handles the requests of a server. Each request is checked in this order. The number is the status of the
 * response if a check fails:
 * 1. that there is no second `Host` header: 400;
 * 2. the path: 404;
 * 3. that no planted `status` fault hits the request: the status of the fault;
 * 4. the method: 405;
 * 5. that the query is UTF-8: 400;
 * 6. the checks of the endpoint.
 */
export class RequestListener {
  readonly #find: (pathname: string) => RoutedPath | undefined;
  readonly #context: ServiceContext;
  readonly #active = new Set<AbortController>();
  /** A serial number for each connection, shown in the request log. */
  readonly #connections = new WeakMap<Socket, number>();
  #lastConnection = 0;
  /** For each connection, a promise that resolves when the latest request has been answered. */
  readonly #pipelined = new WeakMap<Socket, Promise<void>>();

  constructor(routes: readonly Route[], context: ServiceContext) {
    this.#find = createRouter(routes);
    this.#context = context;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { clock, settings } = this.#context;
    const controller = new AbortController();
    // Clients learn the service's time from this header.
    response.setHeader('Date', new Date(clock.now()).toUTCString());
    this.#active.add(controller);
    response.on('close', () => {
      this.#active.delete(controller);
      controller.abort(new Error('The client has gone'));
    });
    // The unread rest of a body would block the next request on this connection.
    response.on('finish', () => request.resume());
    const { socket } = request;
    const answered = this.#afterEarlier(socket, () =>
      this.#respond(request, response, controller.signal),
    ).catch(error => {
      if (!controller.signal.aborted && !isOfGoneClient(error)) settings.onError(error);
      response.destroy();
    });
    this.#pipelined.set(socket, answered);
    void answered.then(() => {
      if (this.#pipelined.get(socket) === answered) this.#pipelined.delete(socket);
    });
  }

  /**
   * Handles the requests of one connection one after another, and yields to the event loop between them.
   * Otherwise, a client that sends thousands of requests at once would block other clients: Node parses all
   * of them in one turn.
   */
  async #afterEarlier(socket: Socket, respond: () => Promise<void>): Promise<void> {
    const earlier = this.#pipelined.get(socket);
    if (earlier !== undefined) {
      await earlier;
      if (socket.destroyed) return;
      await setImmediate();
    }
    await respond();
  }

  stop(): void {
    for (const controller of this.#active) controller.abort(new Error('The service is stopping'));
  }

  async #respond(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const url = urlOf(request);
    const routed = url && this.#find(url.pathname);
    const began = performance.now();
    const update = this.#beginLog(request, url, routed?.route);
    const { socket } = request;
    const sentBefore = socket.bytesWritten;
    const bytes = () => socket.bytesWritten - sentBefore;
    // Only the `close` event tells whether the whole response was sent.
    response.on('close', () =>
      update({
        cut: !response.writableFinished,
        durationMs: performance.now() - began,
        bytes: bytes(),
      }),
    );
    let posts = 0;
    const countPosts = (count: number) => {
      posts += count;
      update({ posts, bytes: bytes() });
    };
    const faults =
      url && routed && hasOneHost(request)
        ? this.#context.faults.match(routed.route.endpoint, url.pathname + url.search)
        : undefined;
    const kinds = [faults?.delay?.kind, faults?.other?.kind].filter(Boolean).join(', ');
    update({ fault: kinds || undefined });
    let answer: HandlerResponse;
    try {
      answer = await this.#answer(request, url, routed, faults, { signal, countPosts });
    } catch (error) {
      if (signal.aborted) return;
      answer = this.#errorAnswer(error, methodOf(request), routed?.route);
    }
    const quotas = routed && this.#context.quotas.left(routed.route.endpoint);
    const { status } = answer;
    update({ status, quotas, body: jsonBodyOf(request), error: errorBodyOf(answer) });
    await sendResponse(response, answer, this.#bodyHit(faults), signal);
  }

  async #answer(
    request: IncomingMessage,
    url: URL | undefined,
    routed: RoutedPath | undefined,
    faults: MatchedFaults | undefined,
    { signal, countPosts }: Pick<RequestContext, 'signal' | 'countPosts'>,
  ): Promise<HandlerResponse> {
    // RFC 9112 section 3.2 forbids two `Host` headers. Node uses only the first, so `checkHost` would not see
    // the second.
    if (!hasOneHost(request)) throw new HttpProblem(400, 'Bad Request: there are two Host headers');
    if (url === undefined || routed === undefined)
      throw new HttpProblem(404, 'Not Found: there is nothing at this address');
    const { delay, other } = faults ?? {};
    if (delay !== undefined) await setTimeout(delay.ms, undefined, { signal });
    if (other?.kind === 'status') throw plantedProblem(other);
    const { route, path } = routed;
    const method = methodOf(request);
    if (!route.methods.includes(method))
      throw new HttpProblem(405, `Method Not Allowed: use ${route.methods.join(' or ')}`, {
        Allow: route.methods.join(', '),
      });
    checkQuery(request);
    const bucketsUntilTimeout = other?.kind === 'counts-timeout' ? other.buckets : undefined;
    return route.handle({ request, method, url, path, signal, countPosts, bucketsUntilTimeout });
  }

  /** Returns the fault that hits the body of the response, if there is one. Error responses are hit, too. */
  #bodyHit(matched: MatchedFaults | undefined): BodyHit | undefined {
    const fault = matched?.other;
    if (fault === undefined || fault.kind === 'status' || fault.kind === 'counts-timeout')
      return undefined;
    return { fault, tookEffect: () => this.#context.faults.tookEffect(fault) };
  }

  #beginLog(
    request: IncomingMessage,
    url: URL | undefined,
    route: Route | undefined,
  ): (outcome: RequestOutcome) => void {
    const endpoint = route?.endpoint;
    if (!(route?.isLogged ?? endpoint !== 'pages')) return () => {};
    return this.#context.requests.begin({
      at: this.#context.clock.now(),
      method: String(request.method),
      address: url === undefined ? '' : url.pathname + url.search,
      endpoint,
      connection: getOrMake(this.#connections, request.socket, () => ++this.#lastConnection),
    });
  }

  #errorAnswer(error: unknown, method: string, route: Route | undefined): HandlerResponse {
    const { clock, settings } = this.#context;
    if (!(error instanceof HttpProblem)) settings.onError(error);
    const problem = error instanceof HttpProblem ? error : internalError(error);
    if (route?.errorPage !== undefined) return route.errorPage(problem);
    const { status, message, headers } = problem;
    const errorBody = route?.errorBody ?? searchErrorBody;
    return jsonResponse(status, errorBody(message, clock.now(), method), headers);
  }
}

/**
 * Returns the body of a request if it is a JSON object. Forms are not logged, because they may have
 * passwords.
 */
function jsonBodyOf(request: IncomingMessage): string | undefined {
  const body = bodyOf(request);
  return body !== undefined && parseJsonObject(body) !== undefined ? body.toString() : undefined;
}

const MAX_ERROR_BYTES = 4_096;

/**
 * Returns the body of an error, if it is JSON. Pages are not logged, because they contain the tokens of their
 * forms.
 */
function errorBodyOf({ status, body }: HandlerResponse): string | undefined {
  if (status < 400) return undefined;
  const text = Buffer.concat(body).toString('utf8', 0, MAX_ERROR_BYTES);
  return text.startsWith('{') ? text : undefined;
}

function internalError(error: unknown): HttpProblem {
  const reason = error instanceof Error ? error.message : String(error);
  return new HttpProblem(500, `Internal Server Error: ${reason}`);
}

function methodOf({ method }: IncomingMessage): string {
  return method === 'HEAD' ? 'GET' : String(method);
}

/**
 * Returns whether the error means that the client has disconnected. Often, a write is the first call to
 * notice this.
 */
function isOfGoneClient(error: unknown): boolean {
  const codes = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'];
  return codes.some(code => isNodeError(error, code));
}

function urlOf(request: IncomingMessage): URL | undefined {
  // `request.url` is only a path, so a placeholder host turns it into a URL.
  const target = request.url ?? '';
  return target.startsWith('/') ? new URL(`http://localhost${target}`) : undefined;
}

function hasOneHost({ headersDistinct: { host = [] } }: IncomingMessage): boolean {
  return host.length <= 1;
}

/** Refuses a query that is not UTF-8, because it would be decoded to other characters than the client meant. */
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

function plantedProblem({ status, message, retryAfter }: StatusFault): HttpProblem {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  const text = message ?? STATUS_MESSAGES[status] ?? 'Planted fault';
  return new HttpProblem(status, text, headers);
}
