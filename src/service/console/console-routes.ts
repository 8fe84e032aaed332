import type { Addresses } from '../http/addresses.js';
import { checkHost, originOf } from '../http/check-access.js';
import { HttpProblem, searchErrorBody } from '../http/http-problem.js';
import {
  type Handler,
  type HandlerResponse,
  type RequestContext,
  type Route,
  type RouteTable,
  routesOf,
} from '../http/router.js';
import { compliancePages } from './compliance-pages.js';
import { type ConsolePage, menuOf, type ShownParts } from './console-page.js';
import { explorePages } from './explore-pages.js';
import { faultPages } from './fault-pages.js';
import { type Html, html } from './html/html.js';
import { ASSETS, CONSOLE_HOME, errorPage, pageResponse, seeOther } from './html/page.js';
import { hiddenFields, messageBox, placeMessage } from './html/page-parts.js';
import { Sessions, StaleForm } from './html/sessions.js';
import { withParameters } from './html/table.js';
import { jobPages } from './job-pages.js';
import { overviewPages } from './overview-pages.js';
import { requestPages } from './request-pages.js';
import { ruleTestPages } from './rule-test-pages.js';
import {
  checkSignIn,
  failedSignIns,
  SIGN_IN,
  type SignInParts,
  showSignIn,
} from './sign-in-page.js';
import { statusPages } from './status-pages.js';
import { streamPages } from './stream-pages.js';
import { usagePages } from './usage-pages.js';
import { userRoutes } from './user-pages.js';

interface ConsoleParts extends Omit<ShownParts, 'addresses'> {
  /** Returns the addresses to show to a client that called the service at this origin. */
  addresses(origin?: string): Addresses;
}

export function pageRoutes(parts: ConsoleParts): readonly Route[] {
  const { settings } = parts.context;
  const sameSite = settings.token === undefined ? 'Lax' : 'Strict';
  const sessions = new Sessions<string>('millrace-console', '/', sameSite);
  const failures = failedSignIns();
  const enter = ({ request }: RequestContext): HandlerParts => {
    checkHost(request, settings);
    const addresses = parts.addresses(originOf(request, settings));
    return { ...parts, addresses, settings, sessions, failures };
  };
  const family = { endpoint: 'pages', errorBody: searchErrorBody } as const;
  return [
    ...routesOf(family, ASSETS, () => undefined),
    ...userRoutes(parts.context),
    ...routesOf({ ...family, errorPage, isLogged: true }, SIGN_INS, enter),
    ...routesOf({ ...family, errorPage }, CONSOLE, enter),
  ];
}

interface HandlerParts extends SignInParts, ShownParts {}

const signOut: Handler<HandlerParts> = async ({ request }, { sessions }) => {
  await sessions.readForm(request);
  return seeOther(SIGN_IN, sessions.signOut(request));
};

const SIGN_INS: RouteTable<HandlerParts> = {
  [SIGN_IN]: { GET: showSignIn, POST: checkSignIn },
  '/console/sign-out': { POST: signOut },
};

const PAGES: readonly ConsolePage[] = [
  ...overviewPages,
  ...explorePages,
  ...ruleTestPages,
  ...jobPages,
  ...streamPages,
  ...compliancePages,
  ...usagePages,
  ...requestPages,
  ...faultPages,
  ...statusPages,
];

const CONSOLE: RouteTable<HandlerParts> = {
  ...Object.fromEntries(
    PAGES.map(page => {
      const handle: Handler<HandlerParts> = (incoming, visited) => respond(page, incoming, visited);
      return [page.pattern, { GET: handle, ...(page.act && { POST: handle }) }];
    }),
  ),
  '/console/:page': {
    GET() {
      throw new HttpProblem(404, 'There is no such page.');
    },
  },
  '/': { GET: () => seeOther(CONSOLE_HOME) },
  [`${CONSOLE_HOME}/`]: { GET: () => seeOther(CONSOLE_HOME) },
};

/**
 * The maximum size of a form in bytes. A form encodes each byte of a post in up to 3 bytes, and a post may
 * have 1 MB.
 */
const MAX_FORM_BYTES = 4 * 1024 * 1024;

async function respond(
  page: ConsolePage,
  incoming: RequestContext,
  parts: HandlerParts,
): Promise<HandlerResponse> {
  const { sessions, settings } = parts;
  const { request, method, url } = incoming;
  const visitor = () => sessions.visitor(request);
  const menu = ({ user, csrf } = visitor()) =>
    menuOf(page.section, user === undefined ? undefined : { user, csrf });
  try {
    // The form is read first, so that the form of another site is refused before `visitor()` opens a session.
    // Browsers send such a form without the cookie, and a new session would replace the user's cookie.
    const form = method === 'POST' ? await sessions.readForm(request, MAX_FORM_BYTES) : undefined;
    const { user, headers } = visitor();
    if (user !== undefined || (page.isPublic && settings.token === undefined))
      return await answer(page, incoming, parts, form);
    if (form !== undefined) throw new StaleForm(form);
    const next = url.pathname + url.search;
    return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`, headers);
  } catch (problem) {
    if (!(problem instanceof HttpProblem)) throw problem;
    const { user } = visitor();
    if (!(problem instanceof StaleForm))
      return errorPage(problem, user === undefined ? undefined : menu());
    return user === undefined
      ? signedOutPage(url, problem)
      : answer(page, incoming, parts, undefined, problem);
  }
}

/** @param refused If set, the page shows this refused form again, with the values that the user typed. */
async function answer(
  page: ConsolePage,
  incoming: RequestContext,
  { sessions, settings, ...parts }: HandlerParts,
  form: URLSearchParams | undefined,
  refused?: StaleForm,
): Promise<HandlerResponse> {
  const { request, method, url } = incoming;
  const { user, csrf } = sessions.visitor(request);
  const { messageAt, rest } = placeMessage(
    method === 'POST' ? undefined : sessions.message(request, url.pathname),
  );
  const visit = { ...incoming, ...parts, csrf, messageAt };
  const result =
    form && page.act ? await page.act(visit, form) : await page.show(visit, refused?.form);
  if ('location' in result) {
    sessions.setMessage(request, result.location, result.message);
    return seeOther(result.location);
  }
  const seconds = page.isLive && method !== 'POST' ? refreshSeconds(url) : undefined;
  return pageResponse({
    ...result,
    status: refused?.status ?? result.status,
    lead: html`${result.lead !== undefined && html`<p>${result.lead}</p>`}${page.isLive && refreshLinks(url)}`,
    area: 'console',
    menu: menuOf(page.section, user === undefined ? undefined : { user, csrf }),
    message: refused ? messageBox({ tone: 'bad', text: STALE }) : rest(),
    headers: seconds === undefined ? {} : { Refresh: String(seconds) },
  });
}

const STALE =
  'You have signed in again since this page was shown. Nothing was changed. Send the form once more.';

/**
 * Shows a page for a form that was sent by a visitor who is signed out. Keeps the typed values until the visitor
 * has signed in in another tab.
 */
function signedOutPage(url: URL, { form, status }: StaleForm): HandlerResponse {
  const body = html`<form class="card" method="post" action="${url.pathname + url.search}">${hiddenFields(form)}
${messageBox({ tone: 'bad', text: 'You have signed out since, or the service has started again. Nothing was changed.' })}
<p><a href="${SIGN_IN}" target="_blank">Sign in in another tab</a>, then continue here with what you typed.</p>
<div class="row"><button class="main">Continue</button></div></form>`;
  return pageResponse({ title: 'Signed out', body, area: 'console', status });
}

const OFFERED_SECONDS = 5;
const MAX_SECONDS = 3_600;

function refreshSeconds({ searchParams }: URL): number | undefined {
  const asked = searchParams.get('refresh') ?? '';
  const seconds = /^\d{1,4}$/.test(asked) ? Number(asked) : 0;
  return seconds >= 1 && seconds <= MAX_SECONDS ? seconds : undefined;
}

/**
 * Renders links to reload a page, once or every few seconds. They need no script, because a header of the
 * response contains the interval.
 */
function refreshLinks(url: URL): Html {
  const seconds = refreshSeconds(url);
  return html`<p class="refresh">${
    seconds === undefined
      ? html`<a href="${url.pathname + url.search}">Refresh</a> <a href="${withParameters(url, { refresh: String(OFFERED_SECONDS) })}">Refresh every ${OFFERED_SECONDS} s</a>`
      : html`<span class="state busy">refreshes every ${seconds} s</span> <a href="${withParameters(url, { refresh: undefined })}">Stop</a>`
  }</p>`;
}
