import type { Compliance } from '../compliance/compliance.js';
import type { ServiceContext } from '../context.js';
import type { Addresses } from '../http/addresses.js';
import type { RequestContext } from '../http/router.js';
import type { JobEndpoints } from '../jobs/job-endpoints.js';
import type { StreamEndpoints } from '../stream-endpoints.js';
import type { UsageMeter } from '../usage/usage-meter.js';
import type { HtmlValue } from './html/html.js';

/** The parts of the service that the console shows. */
export interface ConsoleParts {
  readonly context: ServiceContext;
  readonly jobs: JobEndpoints;
  readonly streams: StreamEndpoints;
  readonly compliance: Compliance;
  readonly usage: UsageMeter;
  addresses(): Addresses;
}

/** The entries of the menu. */
export const SECTIONS = {
  overview: ['Overview', '/console'],
  jobs: ['Jobs', '/console/jobs'],
  replays: ['Replays', '/console/replays'],
  compliance: ['Compliance', '/console/compliance'],
  usage: ['Usage', '/console/usage'],
  requests: ['Requests', '/console/requests'],
  faults: ['Clock and faults', '/console/faults'],
} as const;

export interface PageRequest {
  readonly incoming: RequestContext;
  /** The token for every form. */
  readonly csrf: string;
}

export interface PageContent {
  readonly title: string;
  /** Describes the page in a sentence. */
  readonly lead?: HtmlValue;
  readonly body: HtmlValue;
  /** 200 by default. */
  readonly status?: number | undefined;
}

/** The page to show after a form, with a message. */
export interface FormRedirect {
  readonly location: string;
  readonly notice?: string | undefined;
}

/** A page that needs a sign-in. */
export interface ConsolePage {
  readonly pattern: string;
  readonly section: keyof typeof SECTIONS;
  show?(visit: PageRequest): PageContent | Promise<PageContent>;
  /** Handles a form of the page. */
  act?(
    visit: PageRequest,
    form: URLSearchParams,
  ): FormRedirect | PageContent | Promise<FormRedirect | PageContent>;
}
