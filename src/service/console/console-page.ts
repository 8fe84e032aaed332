import type { Compliance } from '../compliance/compliance.js';
import type { ServiceContext } from '../context.js';
import type { Addresses } from '../http/addresses.js';
import type { RequestContext } from '../http/router.js';
import type { JobEndpoints } from '../jobs/job-endpoints.js';
import type { StreamEndpoints } from '../stream-endpoints.js';
import type { UsageMeter } from '../usage/usage-meter.js';
import type { HtmlValue } from './html/html.js';

/** What the pages of the console show. */
export interface ConsoleParts {
  readonly context: ServiceContext;
  readonly jobs: JobEndpoints;
  readonly streams: StreamEndpoints;
  readonly compliance: Compliance;
  readonly usage: UsageMeter;
  addresses(): Addresses;
}

/** The menu. */
export const SECTIONS = {
  overview: ['Overview', '/console'],
  jobs: ['Jobs', '/console/jobs'],
  replays: ['Replays', '/console/replays'],
  compliance: ['Compliance', '/console/compliance'],
  usage: ['Usage', '/console/usage'],
  requests: ['Requests', '/console/requests'],
  faults: ['Clock and faults', '/console/faults'],
} as const;

export interface Visit {
  readonly incoming: RequestContext;
  /** For every form. */
  readonly csrf: string;
}

export interface Shown {
  readonly title: string;
  /** What the page is, in a sentence. */
  readonly lead?: HtmlValue;
  readonly body: HtmlValue;
  /** 200 where absent. */
  readonly status?: number | undefined;
}

/** Where to go after a form, and what to say there. */
export interface Done {
  readonly goTo: string;
  readonly notice?: string | undefined;
}

/** A page for whoever is signed in. */
export interface ConsolePage {
  readonly pattern: string;
  readonly section: keyof typeof SECTIONS;
  show?(visit: Visit): Shown | Promise<Shown>;
  /** Does what a form of a page asks for. */
  act?(visit: Visit, form: URLSearchParams): Done | Shown | Promise<Done | Shown>;
}
