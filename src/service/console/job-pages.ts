import { formatTimestamp, HOUR, MINUTE } from '../../time.js';
import { HttpProblem } from '../http/http-problem.js';
import type { JobStatus } from '../jobs/job.js';
import { jobDays } from '../jobs/job.js';
import type { JobRunner } from '../jobs/job-runner.js';
import { statusMessage, totalsOf } from '../jobs/job-views.js';
import type { ConsolePage, ConsoleParts } from './console-page.js';
import { type Html, html, isolated } from './html/html.js';
import {
  countOf,
  csrfField,
  durationOf,
  facts,
  instant,
  minuteOf,
  numberOf,
  sizeOf,
  stateOf,
  type Tone,
  table,
} from './html/page-parts.js';

/** Milliseconds of real time that a page waits for work that is due by the clock. */
const MAX_WAIT_MS = 100;
const MAX_RULES = 200;

/** The list of historical jobs and the page of one; both can accept and reject. */
export function jobPages({ jobs: endpoints, context }: ConsoleParts): readonly ConsolePage[] {
  const settle = async () => {
    await endpoints.open();
    await endpoints.jobs.settled(MAX_WAIT_MS);
  };
  const find = async (uuid = ''): Promise<JobRunner> => {
    await settle();
    const runner = endpoints.jobs.find(uuid);
    if (runner === undefined || runner.expired)
      throw new HttpProblem(404, 'There is no such job, or it has expired.');
    return runner;
  };
  const list: ConsolePage = {
    pattern: '/console/jobs',
    section: 'jobs',
    async show({ csrf }) {
      await settle();
      const runners = endpoints.jobs.list().toReversed();
      return {
        title: 'Jobs',
        lead: html`Made by your programs, quoted here, and run once someone accepts. ${countOf(runners.length, 'job')}, newest first; <a href="/console/jobs">look again</a>.`,
        body:
          runners.length === 0
            ? html`<p class="card empty">No jobs yet. The <a href="/console#jobs">overview</a> has a command that makes one.</p>`
            : html`<div class="cards">${runners.map(runner => jobCard(runner, csrf))}</div>`,
      };
    },
  };

  const one: ConsolePage = {
    pattern: '/console/jobs/:uuid',
    section: 'jobs',
    async show({ incoming, csrf }) {
      const runner = await find(incoming.path.uuid);
      const { job } = runner;
      const rules = job.rules.slice(0, MAX_RULES);
      return {
        title: 'Job',
        lead: html`<a href="/console/jobs">All jobs</a>`,
        body: html`${jobCard(runner, csrf, true)}
<section class="card">${table(
          html`${countOf(job.rules.length, 'rule')}${job.rules.length > rules.length && html`, of which the first ${MAX_RULES}`}`,
          [
            {
              label: 'Rule',
              isHeader: true,
              cell: ({ value }) => html`<code>${isolated(value)}</code>`,
            },
            { label: 'Tag', cell: ({ tag }) => (tag === null ? 'none' : isolated(tag)) },
            { label: 'Id', cell: ({ id }) => html`<code>${id}</code>` },
          ],
          rules,
        )}</section>`,
      };
    },
    async act({ incoming }, form) {
      const runner = await find(incoming.path.uuid);
      const decision = form.get('decision');
      if (decision !== 'accept' && decision !== 'reject')
        throw new HttpProblem(400, 'A job can be accepted or rejected, nothing else.');
      const status = decision === 'accept' ? 'accepted' : 'rejected';
      if (!(await runner.decide(status, context.settings.email)))
        throw new HttpProblem(
          409,
          `The job cannot be ${status}: it is ${runner.job.status} now. Only a quoted job can be.`,
        );
      const location = `/console/jobs/${encodeURIComponent(runner.job.uuid)}`;
      return { location, notice: `The job is ${status}.` };
    },
  };
  return [list, one];
}

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

function jobCard(runner: JobRunner, csrf: string, isAlone = false): Html {
  const { job, files, percentComplete } = runner;
  const { uuid, title, status, quote } = job;
  const address = `/console/jobs/${encodeURIComponent(uuid)}`;
  const isAtWork = status === 'estimating' || status === 'running';
  const { posts, bytes } = totalsOf(files);
  return html`<article class="card" aria-labelledby="job-${uuid}">
<header><h2 id="job-${uuid}">${isAlone ? isolated(title) : html`<a href="${address}">${isolated(title)}</a>`}</h2>
${stateOf(status, TONES[status])}</header>
<p>${statusMessage(runner)}</p>
${isAtWork && html`<progress max="100" value="${percentComplete}" aria-label="Done">${percentComplete} %</progress>`}
${facts([
  ['Window', html`${minuteOf(job.from)} to ${minuteOf(job.to)} UTC`],
  ['Counts as', countOf(jobDays(job), 'day')],
  ['Rules', numberOf(job.rules.length)],
  ['Format', job.format],
  ...(status === 'delivered'
    ? ([
        ['Delivered', `${countOf(posts, 'post')} in ${countOf(files.length, 'file')}`],
        ['Size', sizeOf(bytes)],
      ] as const)
    : []),
  ...(Number.isFinite(runner.expiresAt) ? ([['Expires', instant(runner.expiresAt)]] as const) : []),
  ...(isAlone
    ? ([
        ['Requested', html`${instant(job.requestedAt)} by ${isolated(job.requestedBy)}`],
        ['Identifier', html`<code>${uuid}</code>`],
        [
          'fromDate, toDate',
          html`<code>${formatTimestamp(job.from)}</code>, <code>${formatTimestamp(job.to)}</code>`,
        ],
        ...(job.acceptedAt === undefined
          ? []
          : ([
              ['Decided', html`${instant(job.acceptedAt)} by ${isolated(job.acceptedBy ?? '')}`],
            ] as const)),
      ] as const)
    : []),
])}
${
  quote !== undefined &&
  (status === 'quoted' || isAlone) &&
  html`<section class="stack" aria-label="Quote"><h3>Quote</h3>${facts([
    ['Cost', costOf(quote.costDollars)],
    ['Posts', estimatedPosts(quote.estimatedActivityCount)],
    ['Time, at most', durationOf(Math.max(quote.estimatedDurationHours * HOUR, MINUTE))],
    ['Size, compressed', `about ${sizeOf(quote.estimatedFileSizeMb * 1e6)}`],
  ])}<p class="hint">A quote tells the number of posts only by its order of magnitude, from a sample of the window.</p></section>`
}
${
  status === 'quoted' &&
  html`<form method="post" action="${address}">${csrfField(csrf)}
<p class="hint" id="about-${uuid}">An accepted job runs and cannot be stopped. A rejected job cannot be restored.</p>
<div class="row"><button class="main" name="decision" value="accept" aria-describedby="about-${uuid}">Accept<span class="unseen"> ${title}</span></button>
<button class="danger" name="decision" value="reject" aria-describedby="about-${uuid}">Reject<span class="unseen"> ${title}</span></button></div></form>`
}
</article>`;
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
