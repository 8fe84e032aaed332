import { createHash, createHmac } from 'node:crypto';
import { formatTimestamp, SECOND } from '../../base/time.js';
import { isSameSecret } from '../http/check-access.js';
import type { Job } from './job-record.js';

/** Signs the URLs of data files, which expire. */
export type DataUrls = ReturnType<typeof createDataUrls>;

/** The key derives from the seed, so URLs stay valid over restarts. */
export function createDataUrls(seed: string | number, account: string) {
  const key = createHash('sha256').update(`files ${seed}`).digest();
  const signature = (path: string, expires: string) =>
    createHmac('sha256', key).update(`GET\n${expires}\n${path}`).digest();
  return {
    /** The path with a query that makes it valid until `expiresAt`. */
    sign(path: string, expiresAt: number): string {
      const expires = String(Math.floor(expiresAt / SECOND));
      const query = new URLSearchParams({
        AccessKeyId: account,
        Expires: expires,
        Signature: signature(path, expires).toString('base64'),
      });
      return `${path}?${query}`;
    },
    /** Until when the URL is valid; undefined if the signature is wrong. */
    expiryOf({ pathname, searchParams }: URL): number | undefined {
      const expires = searchParams.get('Expires') ?? '';
      const given = Buffer.from(searchParams.get('Signature') ?? '', 'base64');
      return isSameSecret(given, signature(pathname, expires))
        ? Number(expires) * SECOND
        : undefined;
    },
  };
}

/** The pattern of `dataPath`. */
export const DATA_PATTERN =
  '/snapshots/:publisher/track_v2/:format/:account/:year/:month/:day/:snapshot/:y/:m/:d/:h/:minute_activities.json.gz';

/** The path of a file: the day on which its job was created, then its own ten minutes. */
export function dataPath(job: Job, segment: number, publisher: string, account: string): string {
  const [year, month, day] = dateParts(job.requestedAt);
  const createdOn = [year, month, day].join('/');
  const folder = ['snapshots', publisher, 'track_v2', job.format, account].map(encodeURIComponent);
  return `/${folder.join('/')}/${createdOn}/${snapshotOf(job)}/${segmentPath(segment)}`;
}

/** The name of a file after its download. */
export function localName(job: Job, segment: number): string {
  return `${snapshotOf(job)}_${segmentPath(segment).replaceAll('/', '_')}`;
}

/** `2013/07/22/15/00_activities.json.gz` */
export function segmentPath(segment: number): string {
  const [year, month, day, hour, minute] = dateParts(segment);
  return `${year}/${month}/${day}/${hour}/${minute}_activities.json.gz`;
}

/** `20130722-20130723_eff5t4me1j` */
function snapshotOf({ from, to, uuid }: Job): string {
  const day = (ms: number) => formatTimestamp(ms).slice(0, 8);
  return `${day(from)}-${day(to)}_${uuid}`;
}

function dateParts(ms: number): readonly string[] {
  return new Date(ms).toISOString().split(/[-T:]/);
}
