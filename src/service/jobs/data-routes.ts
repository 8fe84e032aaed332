import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { type Handler, type RequestContext, type Route, routesOf } from '../http/router.js';
import { DATA_PATTERN, dataPath } from './data-urls.js';
import type { JobAccess } from './job-routes.js';

/** Data files under signed URLs, at the second origin or, with a token, at that of the service. The URL alone grants access, until it expires. */
export function dataRoutes(access: JobAccess): readonly Route[] {
  const family = { endpoint: 'job-files', errorBody: messageErrorBody } as const;
  return routesOf(family, { [DATA_PATTERN]: { GET: sendFile } }, () => access);
}

const sendFile: Handler<JobAccess> = async ({ request, url, path, countPosts }, access) => {
  const { context, urls, jobs } = access;
  // The signature authorizes. HTTP Basic, which clients send to all job endpoints, is ignored.
  if (!/^(basic .*)?$/is.test(request.headers.authorization ?? ''))
    throw new HttpProblem(
      400,
      'Only one way of authorization: the URL is signed; the Authorization header may only be HTTP Basic',
    );
  const expiry = urls.expiryOf(url);
  if (expiry === undefined) throw new HttpProblem(403, 'Forbidden: the signature is wrong');
  if (context.clock.now() >= expiry) throw new HttpProblem(403, 'Forbidden: the URL has expired');
  const { job, file } = find(url, path, access);
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
      // Of an empty file, the last byte is before the first, which is not a range.
      open: () => createReadStream(onDisk, { start, end: Math.max(start, end) }),
    },
  };
};

/** The file of a URL. Every segment of the path must match, not only those that find the file. */
function find(
  url: URL,
  { snapshot = '', y, m, d, h, minute }: RequestContext['path'],
  { context, jobs }: JobAccess,
) {
  const runner = jobs.find(snapshot.slice(snapshot.lastIndexOf('_') + 1));
  const segment = Date.parse(`${y}-${m}-${d}T${h}:${minute}Z`);
  const file = runner?.files.find(listed => listed.segment === segment);
  // Before `dataPath`, which throws for an invalid date.
  if (runner === undefined || file === undefined || runner.expired) throw notFound();
  const { publisher, account } = context.settings;
  if (dataPath(runner.job, segment, publisher, account) !== url.pathname) throw notFound();
  return { job: runner.job, file };
}

function notFound(): HttpProblem {
  return new HttpProblem(404, 'Not Found: there is no such file');
}

/** The requested range of bytes; undefined, for the whole file, without a valid single range. */
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
