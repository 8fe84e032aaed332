import { isLogin } from '../http/basic-auth.js';
import { HttpProblem, searchErrorBody } from '../http/http-problem.js';
import type { HttpResponse } from '../http/http-response.js';
import type { RequestContext, Route } from '../http/router.js';
import { compliancePages } from './compliance-pages.js';
import { type ConsolePage, type ConsoleParts, SECTIONS } from './console-page.js';
import { faultPages } from './fault-pages.js';
import { errorPage, HOME, outsidePage } from './html/error-page.js';
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
import { SignInAttempts } from './sign-in-attempts.js';
import { type SignInForm, signInForm } from './sign-in-form.js';
import { usagePages } from './usage-pages.js';

const SIGN_IN = '/console/sign-in';

/** The account console (service.md 1): pages for whoever has signed in with email and password. */
export function consoleRoutes(parts: ConsoleParts): readonly Route[] {
  const { settings } = parts.context;
  const sessions = new Sessions<string>('millrace-console', HOME);
  const attempts = new SignInAttempts();
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
    // First: whoever sends a form from elsewhere, and so without the cookie, must not be given one
    // in place of it.
    const form = method === 'POST' ? await readForm(request, sessions) : undefined;
    const { who, csrf, headers } = sessions.visitor(request);
    if (who === undefined) {
      const wanted = form === undefined ? url.pathname + url.search : HOME;
      return seeOther(`${SIGN_IN}?${new URLSearchParams({ next: wanted })}`, headers);
    }
    const visit = { incoming, csrf };
    const result = form === undefined ? await page.show?.(visit) : await page.act?.(visit, form);
    if (result === undefined) throw new Error(`No ${method} for ${page.pattern}`);
    if ('goTo' in result) {
      if (result.notice !== undefined) sessions.tell(request, result.notice);
      return seeOther(result.goTo);
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
        corner: corner(who, csrf),
        notice: sessions.told(request),
      }),
      { status },
    );
  };

  const showSignIn = (
    { request, url }: RequestContext,
    status = 200,
    { next = ownAddress(url.searchParams.get('next')), problem }: Partial<SignInForm> = {},
  ): HttpResponse => {
    const { who, csrf, headers } = sessions.visitor(request);
    if (who !== undefined && problem === undefined) return seeOther(next);
    return pageResponse(outsidePage(signInForm({ csrf, next, problem })), { status, headers });
  };

  const signIn = async (incoming: RequestContext): Promise<HttpResponse> => {
    const { request } = incoming;
    const form = await readForm(request, sessions);
    attempts.check();
    const next = ownAddress(form.get('next'));
    const given = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
    if (!isLogin(given, settings)) {
      attempts.failed();
      const problem = 'That is not the email and password of this account.';
      return showSignIn(incoming, 401, { next, problem });
    }
    return seeOther(next, sessions.signIn(request, settings.email));
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
    route(SIGN_IN, ['GET', 'POST'], incoming =>
      incoming.method === 'POST' ? signIn(incoming) : showSignIn(incoming),
    ),
    route('/console/sign-out', ['POST'], async ({ request }) => {
      await readForm(request, sessions);
      return seeOther(SIGN_IN, sessions.signOut(request));
    }),
    ...pages.map(page =>
      route(page.pattern, [page.show && 'GET', page.act && 'POST'].filter(isName), incoming =>
        respond(page, incoming),
      ),
    ),
    route('/console/:page', ['GET'], () => {
      throw new HttpProblem(404, 'There is no such page.');
    }),
    ...['/', `${HOME}/`].map(path => route(path, ['GET'], () => seeOther(HOME))),
  ];
}

function isName(name: string | undefined): name is string {
  return name !== undefined;
}

/** Only pages of the console: a link to the sign-in must not lead anywhere else. */
function ownAddress(next: string | null): string {
  if (next === null || !/^\/console(?:[/?][\w/?=&%.:-]*)?$/.test(next)) return HOME;
  // A browser takes `..` out, also in its spellings with per cent signs.
  const { pathname } = new URL(next, 'http://localhost');
  return pathname === HOME || pathname.startsWith(`${HOME}/`) ? next : HOME;
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
