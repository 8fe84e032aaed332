import type { IncomingMessage } from 'node:http';
import type { Endpoint } from './endpoints.js';
import type { ErrorBody, HttpProblem } from './http-problem.js';
import type { HttpResponse } from './http-response.js';

/** A request as its handler receives it. */
export interface RequestContext {
  readonly request: IncomingMessage;
  /** HEAD counts as GET. */
  readonly method: string;
  readonly url: URL;
  /** The named segments of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Fires when the client has disconnected or the service stops. */
  readonly signal: AbortSignal;
  /** Whole buckets after which a planted timeout ends a page of counts. */
  readonly bucketsUntilTimeout?: number | undefined;
}

export interface Route {
  readonly endpoint: Endpoint;
  readonly methods: readonly string[];
  /** `:name` stands for one segment, or for the start of one: `/accounts/:account/:label.json`. */
  readonly pattern: string;
  readonly errorBody: ErrorBody;
  /** Replaces `errorBody` for pages. */
  readonly errorPage?: ((problem: HttpProblem) => HttpResponse) | undefined;
  /** Whether the request log lists the requests; by default, unless the endpoint is `pages`. */
  readonly isLogged?: boolean | undefined;
  handle(incoming: RequestContext): HttpResponse | Promise<HttpResponse>;
}

export interface RoutedPath {
  readonly route: Route;
  readonly path: Readonly<Record<string, string>>;
}

/** Finds the route of a path. All segments of a path must match, case-sensitively. */
export function createRouter(
  routes: readonly Route[],
): (pathname: string) => RoutedPath | undefined {
  const compiled = routes.map(route => ({ route, matches: compilePattern(route.pattern) }));
  return pathname => {
    for (const { route, matches } of compiled) {
      const path = matches(pathname);
      if (path !== undefined) return { route, path };
    }
    return undefined;
  };
}

function compilePattern(pattern: string): (pathname: string) => Record<string, string> | undefined {
  const expression = new RegExp(
    `^${pattern.replaceAll('.', '\\.').replace(/:([a-z]+)/gi, '(?<$1>[^/]+)')}$`,
  );
  return pathname => {
    const groups = expression.exec(pathname)?.groups;
    if (groups === undefined) return expression.test(pathname) ? {} : undefined;
    try {
      return Object.fromEntries(
        Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]),
      );
    } catch {
      return undefined; // invalid percent-encoding
    }
  };
}
