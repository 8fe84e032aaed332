import { formatTimestamp, HOUR, MINUTE } from '../../time.js';
import { HttpProblem } from '../http/http-problem.js';
import { type JobStatus, jobDays, type Quote } from '../jobs/job.js';
import type { JobRunner } from '../jobs/job-runner.js';
import { statusMessage, totalsOf } from '../jobs/job-views.js';
import { commandList, emptyPage } from './command-list.js';
import type { ConsolePage, ConsoleParts, FormRedirect } from './console-page.js';
import { type Html, html, isolated } from './html/html.js';
import type { MessageAt } from './html/message.js';
import { csrfField, facts, stateOf, type Tone } from './html/page-parts.js';
import { paged } from './html/pager.js';
import { table } from './html/table.js';
import { countOf, durationOf, instant, numberOf, sizeOf, windowOf } from './html/units.js';

/** Milliseconds of real time that a page waits for work that is due by the clock. */
const MAX_WAIT_MS = 100;

/** The list of historical jobs and the page of one; both can accept and reject. */
export function jobPages(parts: ConsoleParts): readonly ConsolePage[] {
  const { jobs: endpoints, context } = parts;
  const settle = async () => {
    await endpoints.open();
    await endpoints.jobs.settled(MAX_WAIT_MS);
  };
  const find = async (uuid: string): Promise<JobRunner | undefined> => {
    await settle();
    const runner = endpoints.jobs.find(uuid);
    return runner === undefined || runner.expired ? undefined : runner;
  };
  /** Decides on a job; the message is for its row. */
  const decide = async (
    form: URLSearchParams,
    uuid: string,
    page: string,
  ): Promise<FormRedirect> => {
    const decision = form.get('decision');
    if (decision !== 'accept' && decision !== 'reject')
      throw new HttpProblem(400, 'A job can be accepted or rejected, nothing else.');
    const status = decision === 'accept' ? 'accepted' : 'rejected';
    const location = `${page}#${rowId(uuid)}`;
    const runner = await find(uuid);
    if (runner === undefined) return { location, message: { tone: 'bad', text: GONE } };
    if (await runner.decide(status, context.settings.email))
      return { location, message: { tone: 'good', text: `The job is ${status}.` } };
    const text = `The job was not ${status}: it is ${runner.job.status} now. Only a quoted job can be ${status}.`;
    return { location, message: { tone: 'bad', text } };
  };

  const list: ConsolePage = {
    pattern: '/console/jobs',
    section: 'jobs',
    isLive: true,
    async show({ csrf, messageAt, incoming: { url } }) {
      await settle();
      const runners = endpoints.jobs.list().toReversed();
      const { rows, suffix, pager } = paged(runners, url);
      return {
        title: `Jobs${suffix}`,
        lead: 'Your programs make jobs. The service quotes each, and runs it once you or a program accept.',
        body: html`${
          runners.length === 0
            ? emptyPage(parts, 'jobs', 'No jobs yet.')
            : html`<section class="card">${jobTable(rows, runners.length, {
                csrf,
                messageAt,
                page: url.pathname + url.search,
              })}${pager}</section>`
        }${commandList(parts, 'jobs')}`,
      };
    },
    act: ({ incoming: { url } }, form) =>
      decide(form, form.get('job') ?? '', url.pathname + url.search),
  };

  const one: ConsolePage = {
    pattern: '/console/jobs/:uuid',
    section: 'jobs',
    isLive: true,
    async show({ csrf, messageAt, incoming: { path, url } }) {
      const runner = await find(path.uuid ?? '');
      if (runner === undefined) throw new HttpProblem(404, GONE);
      const { rules, title } = runner.job;
      const { rows, suffix, pager } = paged(rules, url);
      return {
        title: html`${isolated(title)}${suffix}`,
        lead: html`A job. <a href="/console/jobs">All jobs</a>`,
        body: html`${jobCard(runner, csrf, messageAt)}
<section class="card" aria-labelledby="rules"><h2 id="rules">Rules</h2>${table(
          countOf(rules.length, 'rule'),
          [
            {
              label: 'Rule',
              kind: 'header',
              cell: ({ value }) => html`<code class="long">${isolated(value)}</code>`,
            },
            { label: 'Tag', cell: ({ tag }) => tag !== null && isolated(tag) },
            { label: 'Id', cell: ({ id }) => html`<code>${id}</code>` },
          ],
          rows,
        )}${pager}</section>`,
      };
    },
    act: ({ incoming: { path, url } }, form) =>
      decide(form, path.uuid ?? '', url.pathname + url.search),
  };
  return [list, one];
}

const GONE = 'There is no such job, or it has expired.';

const rowId = (uuid: string): string => `job-${uuid}`;

const TONES: Readonly<Record<JobStatus, Tone>> = {
  opened: 'idle',
  estimating: 'busy',
  quoted: 'warn',
  accepted: 'busy',
  rejected: 'idle',
  running: 'busy',
  completed: 'busy',
  delivered: 'good',
  failed: 'bad',
};

interface JobTable {
  readonly csrf: string;
  readonly messageAt: MessageAt;
  /** The address of the list, to which its forms go. */
  readonly page: string;
}

function jobTable(
  runners: readonly JobRunner[],
  all: number,
  { csrf, messageAt, page }: JobTable,
): Html {
  return table<JobRunner>(
    html`${countOf(all, 'job')}, newest first`,
    [
      {
        label: 'Job',
        kind: 'header',
        cell: ({ job }) =>
          html`<a href="/console/jobs/${encodeURIComponent(job.uuid)}">${isolated(job.title)}</a>
<small>${windowOf(job)}, ${countOf(job.rules.length, 'rule')}</small>`,
      },
      { label: 'State', phoneLabel: '', cell: progressOf },
      { label: 'Result', phoneLabel: '', cell: resultOf },
      {
        label: 'Decision',
        phoneLabel: '',
        cell: ({ job: { status, uuid, title } }) =>
          status === 'quoted' &&
          html`<form method="post" action="${page}">${csrfField(csrf)}<input type="hidden" name="job" value="${uuid}"><div class="row tight"><button class="plain" name="decision" value="accept">Accept<span class="unseen"> ${title}</span></button><button class="plain" name="decision" value="reject">Reject<span class="unseen"> ${title}</span></button></div></form>`,
      },
    ],
    runners,
    { idOf: ({ job }) => rowId(job.uuid), messageAt },
  );
}

function progressOf({ job: { status }, percentComplete }: JobRunner): Html {
  const isAtWork = status === 'estimating' || status === 'running';
  return stateOf(isAtWork ? `${status}, ${percentComplete} %` : status, TONES[status]);
}

/** In a line, what the job costs, has delivered, or does. */
function resultOf(runner: JobRunner): string {
  const { job, files } = runner;
  const { status, quote } = job;
  if (status === 'quoted' && quote !== undefined)
    return [
      quote.costDollars !== undefined && costOf(quote.costDollars),
      `${estimatedPosts(quote.estimatedActivityCount)} posts`,
    ]
      .filter(Boolean)
      .join(', ');
  if (status !== 'delivered') return statusMessage(runner);
  const { posts, bytes } = totalsOf(files);
  return `${countOf(posts, 'post')}, ${sizeOf(bytes)}`;
}

function jobCard(runner: JobRunner, csrf: string, messageAt: MessageAt): Html {
  const { job, files, percentComplete } = runner;
  const { uuid, status, quote } = job;
  const isAtWork = status === 'estimating' || status === 'running';
  const { posts, bytes } = totalsOf(files);
  return html`<section class="card" id="${rowId(uuid)}" aria-label="State">
<p class="row">${stateOf(status, TONES[status])} ${statusMessage(runner)}</p>
${isAtWork && html`<progress max="100" value="${percentComplete}" aria-label="Done">${percentComplete} %</progress>`}
${quote !== undefined && quoteFacts(quote)}
${
  status === 'quoted' &&
  html`<form method="post">${csrfField(csrf)}
<div class="row"><button class="main" name="decision" value="accept" aria-describedby="decision">Accept</button>
<button class="danger" name="decision" value="reject" aria-describedby="decision">Reject</button></div>
<p class="hint" id="decision">An accepted job runs and cannot be stopped. A rejected job cannot be restored.</p></form>`
}${messageAt(rowId(uuid))}
</section>
<section class="card" aria-labelledby="about"><h2 id="about">About the job</h2>
${facts([
  ['Window', windowOf(job)],
  ['Counts as', countOf(jobDays(job), 'day')],
  ...(status === 'delivered'
    ? ([
        ['Delivered', `${countOf(posts, 'post')} in ${countOf(files.length, 'file')}`],
        ['Size', sizeOf(bytes)],
      ] as const)
    : []),
  ['Format', html`<code>${job.format}</code>`],
  ['Requested', html`${instant(job.requestedAt)} by ${isolated(job.requestedBy)}`],
  ...(job.acceptedAt === undefined
    ? []
    : ([
        ['Decided', html`${instant(job.acceptedAt)} by ${isolated(job.acceptedBy ?? '')}`],
      ] as const)),
  ...(Number.isFinite(runner.expiresAt) ? ([['Expires', instant(runner.expiresAt)]] as const) : []),
  ['Identifier', html`<code class="address">${uuid}</code>`],
  [
    'fromDate, toDate',
    html`<code>${formatTimestamp(job.from)}</code>, <code>${formatTimestamp(job.to)}</code>`,
  ],
])}</section>`;
}

function quoteFacts(quote: Quote): Html {
  return html`${facts([
    ['Cost', costOf(quote.costDollars)],
    ['Posts', estimatedPosts(quote.estimatedActivityCount)],
    ['Time, at most', durationOf(Math.max(quote.estimatedDurationHours * HOUR, MINUTE))],
    ['Size, compressed', `about ${sizeOf(quote.estimatedFileSizeMb * 1e6)}`],
  ])}<p class="hint">A quote tells the number of posts only by its order of magnitude, from a sample of the window.</p>`;
}

/** The range that a quoted order of magnitude stands for. Below 1000, quotes say 100. */
function estimatedPosts(quoted: number): string {
  const end = 10 ** String(quoted).length;
  return quoted < 1000
    ? `fewer than ${numberOf(end)}`
    : `${numberOf(quoted)} to ${numberOf(end - 1)}`;
}

function costOf(dollars: number | undefined): string {
  return dollars === undefined ? 'included in the subscription' : `$${numberOf(dollars)}`;
}
