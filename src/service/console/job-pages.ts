import { formatTimestamp, HOUR, MINUTE } from '../../base/time.js';
import { Activity } from '../../post/activity.js';
import { parseInStreamMessage } from '../../post/in-stream-message.js';
import { fileLines } from '../archive/folder/folder-files.js';
import { HttpProblem } from '../http/http-problem.js';
import { type JobState, jobDays, type Quote } from '../jobs/job-record.js';
import type { JobRunner } from '../jobs/job-runner.js';
import { fileTotals, statusMessage } from '../jobs/job-views.js';
import type { ServiceJobs } from '../jobs/service-jobs.js';
import {
  type ConsolePage,
  confirmation,
  done,
  type FormResult,
  isConfirmed,
  notDone,
  type PageContent,
  type Visit,
} from './console-page.js';
import { commandList, emptyPage } from './endpoint-list.js';
import { type Html, html, isolated } from './html/html.js';
import {
  csrfField,
  facts,
  instant,
  type MessageAt,
  printCount,
  printDuration,
  printNumber,
  printSize,
  renderMinute,
  renderState,
  renderWindow,
  type Tone,
} from './html/page-parts.js';
import { column, type HtmlColumn, listPage, newestFirstCaption, rowsOfPage } from './html/table.js';
import { postView } from './post-view.js';
import { RULE_COLUMNS } from './rule-view.js';

/**
 * The maximum time to wait for jobs to finish their due work before a page is rendered, in milliseconds of
 * real time.
 */
const MAX_WAIT_MS = 100;

export const jobPages: readonly ConsolePage[] = [
  {
    pattern: '/console/jobs',
    section: 'jobs',
    isLive: true,
    show: showList,
    act: (visit, form) => decide(visit, form, form.get('job') ?? ''),
  },
  {
    pattern: '/console/jobs/:uuid',
    section: 'jobs',
    isLive: true,
    show: showJob,
    act: (visit, form) => decide(visit, form, visit.path.uuid ?? ''),
  },
  { pattern: '/console/jobs/:uuid/:file', section: 'jobs', show: showFile },
];

async function showList(visit: Visit): Promise<PageContent> {
  const { csrf, messageAt, url } = visit;
  const runners = (await settledJobs(visit)).list().toReversed();
  const { suffix, list } = listPage(url, runners, {
    caption: newestFirstCaption(runners, 'job'),
    columns: jobColumns(csrf, addressOf(url)),
    idOf: ({ job }) => rowId(job.uuid),
    messageAt,
  });
  return {
    title: `Jobs${suffix}`,
    lead: 'Your programs make jobs. The service quotes each, and runs it once you or a program accept.',
    body: html`<div id="list" data-live>${
      runners.length === 0
        ? emptyPage(visit, 'jobs', 'No jobs yet.')
        : html`<section class="card">${list}</section>`
    }</div>${commandList(visit, 'jobs')}`,
  };
}

async function showJob(visit: Visit): Promise<PageContent> {
  const { csrf, messageAt, url, path } = visit;
  const runner = await find(visit, path.uuid ?? '');
  if (runner === undefined) throw new HttpProblem(404, GONE);
  const { rules, title } = runner.job;
  const { suffix, list } = listPage(url, rules, {
    caption: printCount(rules.length, 'rule'),
    columns: RULE_COLUMNS,
  });
  return {
    title: html`${isolated(title)}${suffix}`,
    lead: html`A job. <a href="/console/jobs">All jobs</a>`,
    body: html`${jobCard(runner, csrf, messageAt)}
${runner.files.length > 0 && filesCard(runner, url)}
<section class="card" aria-labelledby="rules"><h2 id="rules">Rules</h2>${list}</section>`,
  };
}

function filesCard({ job, files }: JobRunner, url: URL): Html {
  const { list } = listPage(url, files, {
    caption: printCount(files.length, 'file'),
    columns: [
      column.header(
        'Ten minutes from',
        ({ segment }) =>
          html`<a href="/console/jobs/${encodeURIComponent(job.uuid)}/${formatTimestamp(segment)}">${renderMinute(segment)}</a>`,
      ),
      column.number('Posts', ({ posts }) => printNumber(posts)),
      column.number('Size', ({ bytes }) => printSize(bytes)),
    ],
    parameter: 'files',
  });
  return html`<section class="card" aria-labelledby="files"><h2 id="files">Files</h2>${list}</section>`;
}

const FILE_POSTS = 10;

async function showFile(visit: Visit): Promise<PageContent> {
  const { jobs, url, path } = visit;
  const runner = await find(visit, path.uuid ?? '');
  const file = runner?.files.find(({ segment }) => formatTimestamp(segment) === path.file);
  if (runner === undefined || file === undefined)
    throw new HttpProblem(404, 'There is no such file, or its job has expired.');
  const { job } = runner;
  const { suffix, first, pager } = rowsOfPage(url, file.posts, {
    pageRows: FILE_POSTS,
    words: ['Before', 'After'],
  });
  const posts = await postsOf(await jobs.jobs.dataFile(job, file.segment), first);
  return {
    title: html`${renderMinute(file.segment)}${suffix}`,
    lead: html`${printCount(file.posts, 'post')} in ${printSize(file.bytes)}: a file of <a href="/console/jobs/${encodeURIComponent(job.uuid)}">${isolated(job.title)}</a>`,
    body: html`<section class="card" aria-label="Posts">${posts.map(post => postView(post))}${pager}</section>`,
  };
}

async function postsOf(path: string, first: number): Promise<readonly Activity[]> {
  const posts: Activity[] = [];
  let at = 0;
  for await (const lines of fileLines(path))
    for (const { bytes } of lines) {
      if (parseInStreamMessage(bytes) !== undefined || at++ < first) continue;
      posts.push(new Activity(Buffer.from(bytes)));
      if (posts.length === FILE_POSTS) return posts;
    }
  return posts;
}

async function decide(visit: Visit, form: URLSearchParams, uuid: string): Promise<FormResult> {
  const decision = form.get('decision');
  if (decision !== 'accept' && decision !== 'reject')
    throw new HttpProblem(400, 'A job can be accepted or rejected, nothing else.');
  const status = decision === 'accept' ? 'accepted' : 'rejected';
  const location = `${addressOf(visit.url)}#${rowId(uuid)}`;
  const runner = await find(visit, uuid);
  if (runner === undefined) return notDone(location, GONE);
  if (status === 'rejected' && runner.job.status === 'quoted' && !isConfirmed(form))
    return confirmation(visit, form, {
      title: 'Reject a job?',
      text: html`A rejected job cannot be restored: ${isolated(runner.job.title)}`,
      action: 'Reject',
    });
  if (await runner.decide(status, visit.context.settings.email))
    return done(location, `The job is ${status}.`);
  return notDone(
    location,
    `The job was not ${status}: it is ${runner.job.status} now. Only a quoted job can be ${status}.`,
  );
}

async function find(visit: Visit, uuid: string): Promise<JobRunner | undefined> {
  const runner = (await settledJobs(visit)).find(uuid);
  return runner === undefined || runner.expired ? undefined : runner;
}

async function settledJobs({ jobs: endpoints }: Visit): Promise<ServiceJobs> {
  await endpoints.open();
  await endpoints.jobs.settled(MAX_WAIT_MS);
  return endpoints.jobs;
}

const addressOf = ({ pathname, search }: URL): string => pathname + search;

const GONE = 'There is no such job, or it has expired.';

const rowId = (uuid: string): string => `job-${uuid}`;

const TONES: Readonly<Record<JobState, Tone>> = {
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

/** @param page The address of the list, to which its forms are sent. */
function jobColumns(csrf: string, page: string): readonly HtmlColumn<JobRunner>[] {
  return [
    column.header(
      'Job',
      ({
        job,
      }) => html`<a href="/console/jobs/${encodeURIComponent(job.uuid)}">${isolated(job.title)}</a>
<small>${renderWindow(job)}, ${printCount(job.rules.length, 'rule')}</small>`,
    ),
    column.text('State', progressOf, ''),
    column.text('Result', resultOf, ''),
    column.text(
      'Decision',
      ({ job: { status, uuid, title } }) =>
        status === 'quoted' &&
        html`<form method="post" action="${page}">${csrfField(csrf)}<input type="hidden" name="job" value="${uuid}"><div class="row tight"><button class="plain" name="decision" value="accept">Accept<span class="unseen"> ${title}</span></button><button class="plain" name="decision" value="reject">Reject<span class="unseen"> ${title}</span></button></div></form>`,
      '',
    ),
  ];
}

function progressOf({ job: { status }, percentComplete }: JobRunner): Html {
  const isAtWork = status === 'estimating' || status === 'running';
  return renderState(isAtWork ? `${status}, ${percentComplete} %` : status, TONES[status]);
}

/** Describes in one line the cost of the job, its result, or its current work. */
function resultOf(runner: JobRunner): string {
  const { job, files } = runner;
  const { status, quote } = job;
  if (status === 'quoted' && quote !== undefined) {
    const cost = quote.costDollars === undefined ? '' : `${costOf(quote.costDollars)}, `;
    return `${cost}${estimatedPosts(quote.estimatedActivityCount)} posts`;
  }
  if (status !== 'delivered') return statusMessage(runner);
  const { posts, bytes } = fileTotals(files);
  return `${printCount(posts, 'post')}, ${printSize(bytes)}`;
}

function jobCard(runner: JobRunner, csrf: string, messageAt: MessageAt): Html {
  const { job, files, percentComplete } = runner;
  const { uuid, status, quote } = job;
  const isAtWork = status === 'estimating' || status === 'running';
  const isDelivered = status === 'delivered';
  const { posts, bytes } = fileTotals(files);
  return html`<section class="card" id="${rowId(uuid)}" data-live aria-label="State">
<p class="row">${renderState(status, TONES[status])} ${statusMessage(runner)}</p>
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
  ['Window', renderWindow(job)],
  ['Counts as', printCount(jobDays(job), 'day')],
  isDelivered && [
    'Delivered',
    `${printCount(posts, 'post')} in ${printCount(files.length, 'file')}`,
  ],
  isDelivered && ['Size', printSize(bytes)],
  ['Format', html`<code>${job.format}</code>`],
  ['Requested', html`${instant(job.requestedAt)} by ${isolated(job.requestedBy)}`],
  job.acceptedAt !== undefined && [
    'Decided',
    html`${instant(job.acceptedAt)} by ${isolated(job.acceptedBy ?? '')}`,
  ],
  Number.isFinite(runner.expiresAt) && ['Expires', instant(runner.expiresAt)],
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
    ['Time, at most', printDuration(Math.max(quote.estimatedDurationHours * HOUR, MINUTE))],
    ['Size, compressed', `about ${printSize(quote.estimatedFileSizeMb * 1e6)}`],
  ])}<p class="hint">A quote tells the number of posts only by its order of magnitude, from a sample of the window.</p>`;
}

/**
 * Formats a quote as a range of numbers of posts. A quote is only an order of magnitude: 100 means any number
 * below 1,000.
 */
function estimatedPosts(quoted: number): string {
  const end = 10 ** String(quoted).length;
  return quoted < 1000
    ? `fewer than ${printNumber(end)}`
    : `${printNumber(quoted)} to ${printNumber(end - 1)}`;
}

function costOf(dollars: number | undefined): string {
  return dollars === undefined ? 'included in the subscription' : `$${printNumber(dollars)}`;
}
