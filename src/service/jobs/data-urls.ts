import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { formatTimestamp, SECOND } from '../../time.js';
import type { Job } from './job.js';

/** Where the data files are: paths in a segment's own date, and signed URLs that expire. */
export interface DataUrls {
  /** The path and query under which a file can be had until an instant. */
  sign(path: string, expiresAt: number): string;
  /** Whether the signature is right, and until when it is good. */
  expiryOf(url: URL): number | undefined;
}

/** The key comes from the seed, so URLs outlive the process. */
export function createDataUrls(seed: string | number, account: string): DataUrls {
  const key = createHash('sha256').update(`files ${seed}`).digest();
  const signature = (path: string, expires: string) =>
    createHmac('sha256', key).update(`GET\n${expires}\n${path}`).digest();
  return {
    sign(path, expiresAt) {
      const expires = String(Math.floor(expiresAt / SECOND));
      const query = new URLSearchParams({
        AccessKeyId: account,
        Expires: expires,
        Signature: signature(path, expires).toString('base64'),
      });
      return `${path}?${query}`;
    },
    expiryOf({ pathname, searchParams }) {
      const expires = searchParams.get('Expires') ?? '';
      const given = Buffer.from(searchParams.get('Signature') ?? '', 'base64');
      const right = signature(pathname, expires);
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      return Number(expires) * SECOND;
    },
  };
}

/** The pattern of `dataPath`. */
export const DATA_PATTERN =
  '/snapshots/:publisher/track_v2/:format/:account/:year/:month/:day/:snapshot/:y/:m/:d/:h/:minute_activities.json.gz';

/** The path of one file: under the day on which its job was made, then under its own ten minutes. */
export function dataPath(job: Job, segment: number, publisher: string, account: string): string {
  const [year, month, day] = datePieces(job.requestedAt);
  const made = [year, month, day].join('/');
  const folder = ['snapshots', publisher, 'track_v2', job.format, account].map(encodeURIComponent);
  return `/${folder.join('/')}/${made}/${snapshotOf(job)}/${segmentPath(segment)}`;
}

/** What a file is called once it is downloaded (service.md 2.6). */
export function localName(job: Job, segment: number): string {
  return `${snapshotOf(job)}_${segmentPath(segment).replaceAll('/', '_')}`;
}

/** `2013/07/22/15/00_activities.json.gz` */
export function segmentPath(segment: number): string {
  const [year, month, day, hour, minute] = datePieces(segment);
  return `${year}/${month}/${day}/${hour}/${minute}_activities.json.gz`;
}

/** `20130722-20130723_eff5t4me1j` */
function snapshotOf({ from, to, uuid }: Job): string {
  const day = (ms: number) => formatTimestamp(ms).slice(0, 8);
  return `${day(from)}-${day(to)}_${uuid}`;
}

function datePieces(ms: number): readonly string[] {
  return new Date(ms).toISOString().split(/[-T:]/);
}
