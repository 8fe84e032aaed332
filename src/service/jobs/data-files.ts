import { createHash, createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { formatTimestamp, SECOND } from '../../base/time.js';
import { isSameSecret } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { type Handler, type RequestContext, type Route, routesOf } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import { type JobRecord, segmentPath } from './job-record.js';
import type { ServiceJobs } from './service-jobs.js';

interface DataParts {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly jobs: ServiceJobs;
}

/**
 * Returns the route of data files under signed URLs. They are on a separate origin, or, if the service has a
 * token, on the origin of the service. Anyone who has a URL can download the file until the URL expires.
 */
export function dataRoutes(parts: DataParts): readonly Route[] {
  const family = { endpoint: 'job-files', errorBody: messageErrorBody } as const;
  return routesOf(family, { [DATA_PATTERN]: { GET: sendFile } }, () => parts);
}

const sendFile: Handler<DataParts> = async ({ request, url, path, countPosts }, parts) => {
  const { context, urls, jobs } = parts;
  // The signature authorizes the request. HTTP Basic, which clients send to all job endpoints, is ignored.
  if (!/^(basic .*)?$/is.test(request.headers.authorization ?? ''))
    throw new HttpProblem(
      400,
      'Only one way of authorization: the URL is signed; the Authorization header may only be HTTP Basic',
    );
  const expiry = urls.expiryOf(url);
  if (expiry === undefined) throw new HttpProblem(403, 'Forbidden: the signature is wrong');
  if (context.clock.now() >= expiry) throw new HttpProblem(403, 'Forbidden: the URL has expired');
  const { job, file } = find(url, path, parts);
  const onDisk = await jobs.dataFile(job, file.segment);
  const { size } = await stat(onDisk).catch(() => {
    throw notFound();
  });
  const etag = `"${file.md5}"`;
  const range = rangeOf(request.headers, size, etag);
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range === undefined && request.method !== 'HEAD') countPosts(file.posts);
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      'Content-Type': 'application/gzip',
      'Accept-Ranges': 'bytes',
      ETag: etag,
      ...(range && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
    },
    body: [],
    stored: {
      bytes: end - start + 1,
      // For an empty file, `end` would be before `start`, which is not a valid range.
      open: () => createReadStream(onDisk, { start, end: Math.max(start, end) }),
    },
  };
};

/**
 * Finds the file of a URL. The job's id and the minute alone identify the file, but every other segment of
 * the path must also be right.
 */
function find(
  url: URL,
  { snapshot = '', y, m, d, h, minute }: RequestContext['path'],
  { context, jobs }: DataParts,
) {
  const runner = jobs.find(snapshot.slice(snapshot.lastIndexOf('_') + 1));
  const segment = Date.parse(`${y}-${m}-${d}T${h}:${minute}Z`);
  const file = runner?.files.find(listed => listed.segment === segment);
  // Without this check, an invalid date in the URL would make `dataPath` throw.
  if (runner === undefined || file === undefined || runner.expired) throw notFound();
  const { publisher, account } = context.settings;
  if (dataPath(runner.job, segment, publisher, account) !== url.pathname) throw notFound();
  return { job: runner.job, file };
}

function notFound(): HttpProblem {
  return new HttpProblem(404, 'Not Found: there is no such file');
}

/**
 * Returns the range of bytes that a request asks for. Returns `undefined`, which means the whole file, unless
 * the request has exactly one valid range.
 */
function rangeOf(
  headers: RequestContext['request']['headers'],
  size: number,
  etag: string,
): { readonly start: number; readonly end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const condition = headers['if-range'];
  if ((first === '' && last === '') || (condition !== undefined && condition !== etag))
    return undefined;
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start >= size || start > end || (first === '' && Number(last) === 0))
    throw new HttpProblem(416, 'Range Not Satisfiable', { 'Content-Range': `bytes */${size}` });
  return { start, end };
}

export type DataUrls = ReturnType<typeof createDataUrls>;

/**
 * Creates the functions that sign and check URLs. The key is derived from the seed, so URLs stay valid after
 * a restart.
 */
export function createDataUrls(seed: string | number, account: string) {
  const key = createHash('sha256').update(`files ${seed}`).digest();
  const signature = (path: string, expires: string) =>
    createHmac('sha256', key).update(`GET\n${expires}\n${path}`).digest();
  return {
    sign(path: string, expiresAt: number): string {
      const expires = String(Math.floor(expiresAt / SECOND));
      const query = new URLSearchParams({
        AccessKeyId: account,
        Expires: expires,
        Signature: signature(path, expires).toString('base64'),
      });
      return `${path}?${query}`;
    },
    /** Returns the time until which the URL is valid; `undefined` if the signature is wrong. */
    expiryOf({ pathname, searchParams }: URL): number | undefined {
      const expires = searchParams.get('Expires') ?? '';
      const given = Buffer.from(searchParams.get('Signature') ?? '', 'base64');
      return isSameSecret(given, signature(pathname, expires))
        ? Number(expires) * SECOND
        : undefined;
    },
  };
}

/** The pattern of the paths that `dataPath` returns. */
const DATA_PATTERN =
  '/snapshots/:publisher/track_v2/:format/:account/:year/:month/:day/:snapshot/:y/:m/:d/:h/:minute_activities.json.gz';

/**
 * Returns the path of a file. It contains the day on which the job was created, and then the ten minutes that
 * the file covers.
 */
export function dataPath(
  job: JobRecord,
  segment: number,
  publisher: string,
  account: string,
): string {
  const createdOn = new Date(job.requestedAt).toISOString().slice(0, 10).replaceAll('-', '/');
  const folder = ['snapshots', publisher, 'track_v2', job.format, account].map(encodeURIComponent);
  return `/${folder.join('/')}/${createdOn}/${snapshotOf(job)}/${segmentPath(segment)}`;
}

/** Returns the name under which clients save a data file. */
export function localName(job: JobRecord, segment: number): string {
  return `${snapshotOf(job)}_${segmentPath(segment).replaceAll('/', '_')}`;
}

/**
 * Returns the name of a job in the paths and names of its data files, such as `20130722-20130723_eff5t4me1j`.
 */
function snapshotOf({ from, to, uuid }: JobRecord): string {
  const day = (ms: number) => formatTimestamp(ms).slice(0, 8);
  return `${day(from)}-${day(to)}_${uuid}`;
}
