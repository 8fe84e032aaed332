import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ErrorBody, HttpProblem } from './http-problem.js';

export const ENDPOINT_NAMES = [
  'search',
  'counts',
  'jobs',
  'job-files',
  'replay',
  'rules',
  'compliance',
  'usage',
  'oauth',
  'engagement',
  'pages',
  'control',
] as const;
/** A family of endpoints, by the name that faults use. */
export type Endpoint = (typeof ENDPOINT_NAMES)[number];

export interface RequestContext {
  readonly request: IncomingMessage;
  /** The method. HEAD counts as GET. */
  readonly method: string;
  readonly url: URL;
  /** The named segments of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Fires when the client has disconnected or the service stops. */
  readonly signal: AbortSignal;
  /** Adds a number to the count of this response's posts in the request log. */
  countPosts(count: number): void;
  /** The number of whole buckets after which a planted `counts-timeout` fault ends a page of counts. */
  readonly bucketsUntilTimeout?: number | undefined;
}

export interface HandlerResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body in chunks, so that a large page is never concatenated. */
  readonly body: readonly Uint8Array[];
  /** A stored file to send unchanged, instead of `body`. */
  readonly stored?: { readonly bytes: number; open(): Readable } | undefined;
  /** A gzip stream to send, instead of `body`. The connection closes at its end. */
  readonly live?: AsyncIterable<Buffer> | undefined;
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): HandlerResponse {
  return { status, headers, body: [Buffer.from(JSON.stringify(value))] };
}

export interface RouteFamily {
  readonly endpoint: Endpoint;
  readonly errorBody: ErrorBody;
  /** Creates an HTML page for an error, for routes that browsers open. Replaces `errorBody`. */
  readonly errorPage?: ((problem: HttpProblem) => HandlerResponse) | undefined;
  /** Whether requests are listed in the request log. @default true, except for the endpoint `pages` */
  readonly isLogged?: boolean | undefined;
}

export interface Route extends RouteFamily {
  readonly methods: readonly string[];
  /**
   * The pattern of the path. `:name` stands for a whole segment or for the start of a segment:
   * `/accounts/:account/:label.json`.
   */
  readonly pattern: string;
  handle(incoming: RequestContext): HandlerResponse | Promise<HandlerResponse>;
}

/**
 * Handles the requests with one method and one path pattern. `parts` is the result of the function `enter`
 * that was passed to `routesOf`.
 */
export type Handler<Parts> = (
  incoming: RequestContext,
  parts: Parts,
) => HandlerResponse | Promise<HandlerResponse>;

/** The routes of a family of endpoints: for each path pattern, a handler for each method. */
export type RouteTable<Parts> = Readonly<Record<string, Readonly<Record<string, Handler<Parts>>>>>;

/**
 * Creates the routes of a family, one for each pattern of the table.
 *
 * @param enter Called before each handler, for the checks that all handlers share. Returns the `parts` for
 * the handlers.
 */
export function routesOf<Parts>(
  family: RouteFamily,
  table: RouteTable<Parts>,
  enter: (incoming: RequestContext) => Parts | Promise<Parts>,
): readonly Route[] {
  return Object.entries(table).map(([pattern, handlers]) => ({
    ...family,
    pattern,
    methods: Object.keys(handlers),
    async handle(incoming) {
      const parts = await enter(incoming);
      return (handlers[incoming.method] as Handler<Parts>)(incoming, parts);
    },
  }));
}

export interface RoutedPath {
  readonly route: Route;
  readonly path: Readonly<Record<string, string>>;
}

/** Creates a function that finds the route of a path. All segments of a path must match, case-sensitively. */
export function createRouter(
  routes: readonly Route[],
): (pathname: string) => RoutedPath | undefined {
  const compiled = routes.map(route => ({ route, expression: expressionOf(route.pattern) }));
  return pathname => {
    for (const { route, expression } of compiled) {
      const match = expression.exec(pathname);
      const path = match && decoded(match.groups ?? {});
      if (path) return { route, path };
    }
    return undefined;
  };
}

function expressionOf(pattern: string): RegExp {
  const source = pattern.replaceAll('.', '\\.').replace(/:([a-z]+)/gi, '(?<$1>[^/]+)');
  return new RegExp(`^${source}$`);
}

function decoded(segments: Readonly<Record<string, string>>): RoutedPath['path'] | undefined {
  try {
    const named = Object.entries(segments);
    return Object.fromEntries(named.map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    return undefined;
  }
}
