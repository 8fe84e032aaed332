import type { Addresses } from '../http/addresses.js';
import type { RequestContext } from '../http/router.js';
import type { JobEndpoints } from '../jobs/job-routes.js';
import type { FirstSearch } from '../service-archives.js';
import type { ServiceContext } from '../service-context.js';
import { type HtmlValue, html } from './html/html.js';
import type { HtmlPage, Menu } from './html/page.js';
import { csrfField, hiddenFields, type Message, type MessageAt } from './html/page-parts.js';

export interface ShownParts {
  readonly context: ServiceContext;
  readonly jobs: JobEndpoints;
  /** The service's addresses, with the origin that the browser used. */
  readonly addresses: Addresses;
  /** Returns a search that finds posts, as an example; `undefined` for an empty archive. */
  firstSearch(): Promise<FirstSearch | undefined>;
}

export const SECTIONS = {
  overview: ['Overview', '/console'],
  explore: ['Explore', '/console/explore'],
  jobs: ['Jobs', '/console/jobs'],
  streams: ['Streams', '/console/streams'],
  compliance: ['Compliance', '/console/compliance'],
  usage: ['Usage', '/console/usage'],
  requests: ['Requests', '/console/requests'],
  faults: ['Clock and faults', '/console/faults'],
  status: ['Status', '/status'],
} as const;

export function menuOf(
  section: keyof typeof SECTIONS,
  visitor?: { readonly user: string; readonly csrf: string },
): Menu {
  const [current] = SECTIONS[section];
  const links = Object.entries(SECTIONS).map(
    ([name, [label, address]]) =>
      html`<li><a href="${address}"${name === section && html` aria-current="page"`}>${label}</a></li>`,
  );
  const entries = html`<nav aria-label="Console"><ul>${links}</ul></nav>
${visitor && html`<form method="post" action="/console/sign-out">${csrfField(visitor.csrf)}<p class="who">Signed in as ${visitor.user}</p><button class="plain">Sign out</button></form>`}`;
  return { current, entries };
}

/** A request for a page, with the data that the page shows. */
export interface Visit extends Pick<RequestContext, 'url' | 'path' | 'signal'>, ShownParts {
  readonly csrf: string;
  readonly messageAt: MessageAt;
}

/** The content of a console page. Its `lead` is the sentence below the heading. */
export type PageContent = Pick<HtmlPage, 'title' | 'lead' | 'body' | 'status'>;

/**
 * The page to show after a form was sent, and a message. The URL fragment of `location` is the id of the
 * element that shows the message.
 */
interface FormRedirect {
  readonly location: string;
  readonly message: Message;
}

export type FormResult = FormRedirect | PageContent;

export function done(location: string, text: string): FormRedirect {
  return { location, message: { tone: 'good', text } };
}

export function notDone(location: string, text: string): FormRedirect {
  return { location, message: { tone: 'bad', text } };
}

interface Question {
  readonly title: string;
  readonly text: HtmlValue;
  readonly action: string;
}

/**
 * Returns a page that asks for confirmation before a form does something that cannot be undone. `isConfirmed`
 * returns true for the form that this page sends.
 */
export function confirmation(
  { url, csrf }: Visit,
  form: URLSearchParams,
  { title, text, action }: Question,
): PageContent {
  const here = url.pathname + url.search;
  return {
    title,
    body: html`<form class="card" method="post" action="${here}">${csrfField(csrf)}${hiddenFields(form)}
<p>${text}</p>
<div class="row"><button class="danger" name="confirmed" value="yes">${action}</button><a class="button plain" href="${here}">Cancel</a></div></form>`,
  };
}

export function isConfirmed(form: URLSearchParams): boolean {
  return form.has('confirmed');
}

export interface ConsolePage {
  readonly pattern: string;
  readonly section: keyof typeof SECTIONS;
  /**
   * Whether the content changes without user input. The page then has links that reload it, once or every few
   * seconds. It must have no fields to type in, because a reload would clear them.
   */
  readonly isLive?: boolean;
  /** Whether visitors can read the page without signing in, unless the service has a token. */
  readonly isPublic?: boolean;
  /** @param typed The values of a form that was refused. The form on the page shows them again. */
  show(visit: Visit, typed?: URLSearchParams): PageContent | Promise<PageContent>;
  act?(visit: Visit, form: URLSearchParams): FormResult | Promise<FormResult>;
}
