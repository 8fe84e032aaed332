import { HttpProblem, searchErrorBody } from '../http/http-problem.js';
import type { HttpResponse } from '../http/http-response.js';
import type { RequestContext, Route } from '../http/router.js';
import { compliancePages } from './compliance-pages.js';
import { type ConsolePage, type ConsoleParts, SECTIONS } from './console-page.js';
import { faultPages } from './fault-pages.js';
import { errorPage, HOME } from './html/error-page.js';
import { type Html, html } from './html/html.js';
import { layout } from './html/layout.js';
import { csrfField } from './html/page-parts.js';
import { pageResponse, seeOther } from './html/page-response.js';
import { checkHost, readForm } from './html/read-form.js';
import { Sessions } from './html/sessions.js';
import { jobPages } from './job-pages.js';
import { overviewPages } from './overview-pages.js';
import { replayPages } from './replay-pages.js';
import { requestPages } from './request-pages.js';
import { SIGN_IN, signInPage } from './sign-in.js';
import { usagePages } from './usage-pages.js';

/** The account console: pages for the account holder, after a sign-in with email and password. */
export function consoleRoutes(parts: ConsoleParts): readonly Route[] {
  const { settings } = parts.context;
  const sessions = new Sessions<string>('millrace-console', HOME);
  const pages = [
    ...overviewPages(parts),
    ...jobPages(parts),
    ...replayPages(parts),
    ...compliancePages(parts),
    ...usagePages(parts),
    ...requestPages(parts),
    ...faultPages(parts),
  ];

  const respond = async (page: ConsolePage, incoming: RequestContext): Promise<HttpResponse> => {
    const { request, method, url } = incoming;
    // First, so that a cross-site form, which has no cookie, is refused without setting one.
    const form = method === 'POST' ? await readForm(request, sessions) : undefined;
    const { user, csrf, headers } = sessions.visitor(request);
    if (user === undefined) {
      const next = form === undefined ? url.pathname + url.search : HOME;
      return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`, headers);
    }
    const pageRequest = { incoming, csrf };
    const result =
      form === undefined ? await page.show?.(pageRequest) : await page.act?.(pageRequest, form);
    if (result === undefined) throw new Error(`No ${method} for ${page.pattern}`);
    if ('location' in result) {
      if (result.notice !== undefined) sessions.setNotice(request, result.notice);
      return seeOther(result.location);
    }
    const { title, lead, body, status } = result;
    return pageResponse(
      layout({
        title,
        lead: lead !== undefined && html`<p>${lead}</p>`,
        body,
        area: 'console',
        home: HOME,
        shape: 'wide',
        menu: menuOf(page.section),
        corner: corner(user, csrf),
        notice: sessions.takeNotice(request),
      }),
      { status },
    );
  };

  const signOut = async ({ request }: RequestContext): Promise<HttpResponse> => {
    await readForm(request, sessions);
    return seeOther(SIGN_IN, sessions.signOut(request));
  };

  const route = (
    pattern: string,
    methods: readonly string[],
    handle: (incoming: RequestContext) => Promise<HttpResponse> | HttpResponse,
  ): Route => ({
    endpoint: 'pages',
    methods,
    pattern,
    errorBody: searchErrorBody,
    errorPage,
    handle(incoming) {
      checkHost(incoming.request);
      return handle(incoming);
    },
  });

  return [
    { ...route(SIGN_IN, ['GET', 'POST'], signInPage(settings, sessions)), isLogged: true },
    { ...route('/console/sign-out', ['POST'], signOut), isLogged: true },
    ...pages.map(page =>
      route(page.pattern, [page.show && 'GET', page.act && 'POST'].filter(isDefined), incoming =>
        respond(page, incoming),
      ),
    ),
    route('/console/:page', ['GET'], () => {
      throw new HttpProblem(404, 'There is no such page.');
    }),
    ...['/', `${HOME}/`].map(path => route(path, ['GET'], () => seeOther(HOME))),
  ];
}

function isDefined(name: string | undefined): name is string {
  return name !== undefined;
}

function menuOf(section: keyof typeof SECTIONS): Html {
  return html`<nav class="menu" aria-label="Console"><ul>${Object.entries(SECTIONS).map(
    ([name, [label, address]]) =>
      html`<li><a href="${address}"${name === section && html` aria-current="page"`}>${label}</a></li>`,
  )}<li><a href="/status">Status</a></li></ul></nav>`;
}

function corner(who: string, csrf: string): Html {
  return html`<span class="who">Signed in as ${who}</span>
<form method="post" action="/console/sign-out">${csrfField(csrf)}<button class="plain">Sign out</button></form>`;
}
