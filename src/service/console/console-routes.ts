import { HttpProblem, searchErrorBody } from '../http/http-problem.js';
import type { HttpResponse, RequestContext, Route } from '../http/router.js';
import { compliancePages } from './compliance-pages.js';
import { type ConsolePage, type ConsoleParts, SECTIONS } from './console-page.js';
import { faultPages } from './fault-pages.js';
import { errorPage, HOME } from './html/error-page.js';
import { html } from './html/html.js';
import { layout, type Menu } from './html/layout.js';
import { placeMessage } from './html/message.js';
import { csrfField } from './html/page-parts.js';
import { pageResponse, seeOther } from './html/page-response.js';
import { checkHost, readForm } from './html/read-form.js';
import { refreshLinks, refreshSeconds } from './html/refresh.js';
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
    const { messageAt, rest } = placeMessage(
      form === undefined ? sessions.message(request, url.pathname) : undefined,
    );
    const pageRequest = { incoming, csrf, messageAt };
    const result =
      form === undefined ? await page.show?.(pageRequest) : await page.act?.(pageRequest, form);
    if (result === undefined) throw new Error(`No ${method} for ${page.pattern}`);
    if ('location' in result) {
      sessions.setMessage(request, result.location, result.message);
      return seeOther(result.location);
    }
    const { title, lead, body, status } = result;
    const seconds = page.isLive && form === undefined ? refreshSeconds(url) : undefined;
    const content = layout({
      title,
      lead: html`${lead !== undefined && html`<p>${lead}</p>`}${page.isLive && refreshLinks(url)}`,
      body,
      area: 'console',
      home: HOME,
      shape: 'wide',
      menu: menuOf(page.section, user, csrf),
      message: rest(),
    });
    return pageResponse(content, {
      status,
      headers: seconds === undefined ? {} : { Refresh: String(seconds) },
    });
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

function menuOf(section: keyof typeof SECTIONS, user: string, csrf: string): Menu {
  const [current] = SECTIONS[section];
  const links = Object.entries(SECTIONS).map(
    ([name, [label, address]]) =>
      html`<li><a href="${address}"${name === section && html` aria-current="page"`}>${label}</a></li>`,
  );
  const entries = html`<nav aria-label="Console"><ul>${links}<li><a href="/status">Status</a></li></ul></nav>
<form method="post" action="/console/sign-out">${csrfField(csrf)}<p class="who">Signed in as ${user}</p><button class="plain">Sign out</button></form>`;
  return { current, entries };
}
