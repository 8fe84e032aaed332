import { DataError, type DataPosition } from '../base/errors.js';
import { redact } from '../base/secret.js';
import { urlForMessages } from '../http/http-message.js';
import { JsonMembers } from '../http/read-json.js';
import { isSafeAddress } from '../http/settings.js';
import type { Format } from '../post/activity.js';
import {
  type CreatedJob,
  type CreatedRule,
  type Job,
  type JobCsvFile,
  type JobList,
  type JobListing,
  uuidIn,
} from './job.js';

/**
 * Parses the response to the creation of a job. Unlike later responses, it contains the results for the job's
 * rules.
 */
export function parseCreatedJob(value: unknown, origin: string): CreatedJob {
  const rules = new JsonMembers(value, 'a job', origin).object('rules');
  const job = parseJob(value, origin);
  return rules === undefined ? job : { ...job, rules: rules.objects('detail').map(parseRule) };
}

/** @param uuid the uuid of the requested job, which is used if the response has no `jobURL` */
export function parseJob(value: unknown, origin: string, uuid?: string): Job {
  const job = new JsonMembers(value, 'a job', origin);
  const quote = job.object('quote');
  const results = job.object('results');
  return {
    ...parseCommon(job, uuid),
    statusMessage: job.text('statusMessage') ?? '',
    account: job.text('account'),
    dataFormat: formatOf(job.text('format')),
    requestedBy: job.text('requestedBy'),
    requestedAt: job.text('requestedAt'),
    quote: quote && {
      costDollars: quote.number('costDollars'),
      estimatedActivityCount: quote.needNumber('estimatedActivityCount'),
      estimatedDurationHours: quote.needNumber('estimatedDurationHours'),
      estimatedFileSizeMb: quote.needNumber('estimatedFileSizeMb'),
      expiresAt: quote.needText('expiresAt'),
    },
    acceptedBy: job.text('acceptedBy'),
    acceptedAt: job.text('acceptedAt'),
    results: results && {
      completedAt: results.text('completedAt'),
      activityCount: results.number('activityCount'),
      fileCount: results.number('fileCount'),
      fileSizeMb: results.number('fileSizeMb'),
      dataURL: results.text('dataURL'),
      expiresAt: results.text('expiresAt'),
    },
  };
}

export function parseJobList(value: unknown, origin: string): JobList {
  const list = new JsonMembers(value, 'a list of jobs', origin);
  const delivered = list.object('delivered');
  return {
    jobs: list.objects('jobs').map(item => ({
      ...parseCommon(item),
      expiresAt: item.text('expiresAt'),
    })),
    delivered: {
      jobCount: delivered?.number('jobCount') ?? 0,
      jobDaysRun: delivered?.number('jobDaysRun') ?? 0,
      activityCount: delivered?.number('activityCount') ?? 0,
    },
  };
}

/** @param insecureOrigins the origins, other than loopback addresses, whose files may have http URLs */
export function parseJobListing(
  value: unknown,
  origin: string,
  insecureOrigins?: readonly string[],
): JobListing {
  const listing = new JsonMembers(value, 'the files of a job', origin);
  const urlList = listing.texts('urlList');
  for (const url of urlList) checkFileUrl(url, { origin }, insecureOrigins);
  return {
    urlCount: listing.needNumber('urlCount'),
    urlList,
    totalFileSizeBytes: listing.number('totalFileSizeBytes'),
    // The service documents both spellings of this key.
    suspectMinutesURL: listing.text('suspectMinutesURL') ?? listing.text('suspectMinutesUrl'),
    expiresAt: listing.text('expiresAt'),
  };
}

/**
 * Parses the CSV listing of a job. Each line has the name of a file, a tab and the URL of the file. If a job
 * has no files, its listing is empty.
 *
 * @param insecureOrigins the origins, other than loopback addresses, whose files may have http URLs
 * @throws DataError, which is retryable, if the text is anything else, such as JSON or the error page of a
 *   proxy.
 */
export function parseJobCsv(
  text: string,
  origin: string,
  insecureOrigins?: readonly string[],
): JobCsvFile[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, index) => {
    const position = { origin, line: index + 1 };
    const [name = '', url, ...rest] = line.split('\t');
    if (name === '' || url === undefined || rest.length > 0 || /\p{Cc}/u.test(name))
      throw new DataError(
        `The answer is not the files of a job: expected a name, a tab and an address, got ${line === '' ? 'an empty line' : excerptWithoutQuery(line)}`,
        { position, retryable: true },
      );
    checkFileUrl(url, position, insecureOrigins);
    return { name, url };
  });
}

function parseCommon(job: JsonMembers, uuid?: string) {
  const jobURL = job.text('jobURL') ?? '';
  const status = job.needText('status');
  return {
    uuid: uuidIn(jobURL) ?? uuid ?? job.refuse('jobURL', 'the address of a job'),
    title: job.needText('title'),
    jobURL,
    // The service documents both spellings of this status.
    status: status === 'open' ? 'opened' : status,
    publisher: job.text('publisher'),
    streamType: job.text('streamType'),
    fromDate: job.needText('fromDate'),
    toDate: job.needText('toDate'),
    percentComplete: job.number('percentComplete'),
  };
}

function parseRule(detail: JsonMembers): CreatedRule {
  const rule = detail.object('rule');
  return {
    value: rule?.text('value') ?? '',
    tag: rule?.text('tag') ?? null,
    id: rule?.text('id'),
    created: detail.flag('created'),
    message: detail.text('message'),
  };
}

/** `activity-streams` is an older spelling of `activity_streams`. */
function formatOf(text: string | undefined): Format | undefined {
  if (text === 'original') return text;
  return text === 'activity_streams' || text === 'activity-streams'
    ? 'activity_streams'
    : undefined;
}

/**
 * Checks the URL of a job's file. It must be https, a loopback address, or in one of the allowed origins. The
 * signature in the query of the URL gives access to the file, so errors do not show the query.
 *
 * @throws DataError
 */
function checkFileUrl(
  text: string,
  position: DataPosition,
  insecureOrigins: readonly string[] | undefined,
): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url !== undefined && isSafeAddress(url, insecureOrigins);
  if (isSafe && url.username === '' && url.password === '') return;
  throw new DataError(
    `Expected the address of each file to be https, got ${url === undefined ? excerptWithoutQuery(text) : shown(url)}`,
    { position },
  );
}

/**
 * Returns the start of an unexpected text, up to the first question mark. The text after a question mark may
 * be the signature of a URL, which must stay secret.
 */
function excerptWithoutQuery(text: string): string {
  const [start = ''] = text.split('?', 1);
  const cut = redact(start).slice(0, 80);
  return JSON.stringify(cut.length < text.length ? `${cut}...` : cut);
}

function shown(url: URL): string {
  return url.host === ''
    ? excerptWithoutQuery(url.href)
    : redact(urlForMessages(url)).slice(0, 200);
}
