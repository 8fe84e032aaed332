import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { DAY, formatTimestamp, SEGMENT } from '../../src/base/time.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import {
  json,
  type Received,
  type Reply,
  ScriptedServer,
  status,
} from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';

export const PASSWORD = 'canary pa55/word"';
export const UUID = 'eff5t4me1j';
const BASE = '/historical/rulestream/accounts/acme/publishers/twitter';

export interface ServedFile {
  /** The start of the ten minutes that the file covers, as `YYYYMMDDHHMM`. */
  readonly segment: string;
  readonly lines: readonly string[];
  readonly gzip: Buffer;
}

export interface JobServerOptions {
  readonly files?: readonly ServedFile[];
  /**
   * Members that override or extend the list of files. `results` does the same for the results of
   * the job.
   */
  readonly listing?: Readonly<Record<string, unknown>>;
  readonly results?: Readonly<Record<string, unknown>>;
  readonly job?: Readonly<Record<string, unknown>>;
  readonly suspectMinutes?: readonly string[];
}

export interface JobServer {
  readonly server: ScriptedServer;
  readonly files: readonly ServedFile[];
  readonly lines: readonly string[];
  readonly fetched: Map<string, number>;
  /**
   * For each file, a function that returns a replacement for the response. `before` is the number
   * of earlier requests for the file.
   */
  readonly faults: Map<string, (before: number, whole: ServedFile) => Reply | undefined>;
  listings: number;
  /** The addresses in the first `expired` lists of files are expired. */
  expired: number;
  account(options?: AccountOptions): Account;
  stop(): Promise<void>;
}

export function servedFiles(
  count: number,
  { posts = 3, info = true }: { posts?: number; info?: boolean } = {},
): ServedFile[] {
  const start = Date.UTC(2024, 0, 1);
  const step = Math.max(1, Math.floor(DAY / SEGMENT / count)) * SEGMENT;
  return Array.from({ length: count }, (_, file) => {
    const at = start + file * step;
    const lines = Array.from({ length: posts }, (_, post) => postLine(at, file * 1000 + post));
    return servedFile(formatTimestamp(at), lines, info);
  });
}

export function servedFile(segment: string, lines: readonly string[], info = true): ServedFile {
  const last = `{"info":{"message":"Replay Request Completed","sent":"2024-05-15T12:34:56+00:00","activity_count":${lines.length}}}`;
  const text = lines.map(line => `${line}\n`).join('') + (info ? last : '');
  return { segment, lines, gzip: gzipSync(text) };
}

/**
 * Creates a gzip file of several MB: the lines in `before`, followed by random text, which hardly
 * compresses.
 */
export function largeFile(bytes: number, before: readonly string[] = []): Buffer {
  const lines = Array.from(
    { length: Math.ceil(bytes / 100_000) },
    (_, i) => `{"id":${i},"text":"${randomBytes(100_000).toString('hex')}"}`,
  );
  return gzipSync(`${[...before, ...lines].join('\n')}\n`, { level: 1 });
}

export function postLine(at: number, number: number): string {
  const id = 1_740_000_000_000_000_001n + BigInt(number);
  const date = new Date(at)
    .toUTCString()
    .replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 +0000 $4');
  return `{"created_at":"${date}","id":${id},"id_str":"${id}","text":"info {\\"info\\"} é🎉 ${number}","matching_rules":[{"tag":"t${number % 3}","id":7,"id_str":"7"}]}`;
}

/** Serves a delivered job. The signed addresses of its files have the same origin as the server. */
export async function jobServer({
  files = servedFiles(12),
  listing = {},
  results = {},
  job = {},
  suspectMinutes,
}: JobServerOptions = {}): Promise<JobServer> {
  const server = await new ScriptedServer().start();
  const lines = files.flatMap(file => file.lines);
  const self: JobServer = {
    server,
    files,
    lines,
    fetched: new Map(),
    faults: new Map(),
    listings: 0,
    expired: 0,
    account: options =>
      account(
        {
          historicalUrl: server.url,
          account: 'acme',
          publisher: 'twitter',
          email: 'me@acme.test',
          password: PASSWORD,
          timing: impatient(),
          limits: { jobReads: [], jobCreation: [] },
          timeouts: { silenceMs: 2_000 },
          ...options,
        },
        {},
      ),
    stop: () => server.stop(),
  };

  const delivered = () => ({
    title: 'a job',
    jobURL: `${server.url}${BASE}/jobs/${UUID}.json`,
    publisher: 'twitter',
    streamType: 'track_v2',
    format: 'original',
    fromDate: '202401010000',
    toDate: '202401020000',
    status: 'delivered',
    statusMessage: 'Job delivered and available for download',
    percentComplete: 100,
    results: {
      activityCount: lines.length,
      fileCount: files.length,
      fileSizeMb: '1.44',
      completedAt: '2024-05-15T12:34:56Z',
      dataURL: `${server.url}${BASE}/jobs/${UUID}/results.json`,
      expiresAt: '2024-05-30T12:34:56Z',
      ...results,
    },
    ...job,
  });
  const addressOf = ({ segment }: ServedFile) => {
    const [, y, m, d, h, minute] = /^(....)(..)(..)(..)(..)$/.exec(segment) ?? [];
    return `${server.url}/snapshots/x/20240101-20240102_${UUID}/${y}/${m}/${d}/${h}/${minute}_activities.json.gz?AccessKeyId=canarykey&Expires=1716985000&Signature=canary${self.listings}%2Fsig%3D`;
  };
  const listed = () => ({
    urlCount: files.length,
    urlList: files.map(addressOf),
    totalFileSizeBytes: files.reduce((sum, file) => sum + file.gzip.length, 0),
    expiresAt: '2024-05-30T12:34:56Z',
    ...(suspectMinutes && {
      suspectMinutesUrl: `${server.url}${BASE}/jobs/${UUID}/suspectMinutes.json`,
    }),
    ...listing,
  });

  server.otherwise = (response, request) => {
    const { pathname, searchParams } = new URL(request.url, server.url);
    const answer = (reply: Reply) => reply(response, request);
    if (pathname.startsWith('/snapshots/'))
      return answer(fileReply(pathname, searchParams, request));
    if (request.headers.authorization === undefined) return answer(status(401));
    if (pathname === `${BASE}/jobs/${UUID}.json`) return answer(json(delivered(), { gzip: true }));
    if (pathname === `${BASE}/jobs/${UUID}/suspectMinutes.json`)
      return answer(json({ suspectMinutes }));
    if (pathname !== `${BASE}/jobs/${UUID}/results.json`) return answer(status(404));
    self.listings++;
    return answer(json(listed()));
  };

  function fileReply(pathname: string, query: URLSearchParams, request: Received): Reply {
    if (request.headers.authorization !== undefined) return status(400, 'two authentications');
    const segment = pathname
      .replace(/_activities.*/, '')
      .split('/')
      .slice(-5)
      .join('');
    const file = files.find(other => other.segment === segment);
    if (file === undefined) return status(404);
    const signature = query.get('Signature') ?? '';
    if (Number(/\d+/.exec(signature)) <= self.expired)
      return status(
        403,
        `<Error><Code>AccessDenied</Code><Signature>${signature}</Signature></Error>`,
      );
    const before = self.fetched.get(segment) ?? 0;
    self.fetched.set(segment, before + 1);
    return self.faults.get(segment)?.(before, file) ?? whole(file.gzip);
  }
  return self;
}

export function whole(bytes: Buffer): Reply {
  return response => {
    response.setHeader('content-type', 'application/gzip');
    response.setHeader('content-length', bytes.length);
    response.end(bytes);
  };
}
