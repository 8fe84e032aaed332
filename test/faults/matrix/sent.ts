import { constants, gunzipSync, gzipSync } from 'node:zlib';
import type { Endpoint } from 'millrace/service';
import { elementsIn, isItem } from './bare-client.js';
import type { SeenResponse } from './fault-proxy.js';

export interface Clean {
  readonly sent: ReadonlyMap<Endpoint, readonly Sent[]>;
  /** The number of calls that have changed a file. */
  readonly diskCalls: number;
  readonly threadWrites: number;
  readonly threadMessages: number;
}

export interface Sent {
  /** The part of the path and query that is the same in each run. */
  readonly address: string;
  /**
   * The minimum size of the body on the wire. If a stream is flushed more often, its body is
   * larger.
   */
  readonly bytes: number;
  readonly records: number;
  readonly messages: readonly string[];
}

export const PATHS: Partial<Record<Endpoint, string>> = {
  search: '/search/fullarchive/accounts/local/dev.json',
  counts: '/counts.json',
  engagement: '/insights/engagement/totals',
  jobs: '/historical/',
  'job-files': '_activities.json.gz',
  replay: '/replay/',
  compliance: '/streams/compliance/',
};

/**
 * The list of a job's files may be shorter by this many bytes in another run, because the signed
 * addresses in it differ.
 */
const SIGNED_BYTES = 50;

export function sentTo(
  endpoints: readonly Endpoint[],
  seen: readonly SeenResponse[],
): Clean['sent'] {
  return new Map(
    endpoints.map(endpoint => [
      endpoint,
      seen.filter(({ path }) => path.includes(PATHS[endpoint] ?? endpoint)).map(sentIn),
    ]),
  );
}

function sentIn({ path, chunks }: SeenResponse): Sent {
  const wire = Buffer.concat(chunks);
  const isStream = /\/(replay|streams)\//.test(path);
  const isFile = path.includes('_activities.json.gz');
  const isGzip = wire[0] === 0x1f && wire[1] === 0x8b;
  // The recorded stream was stopped in the middle, so its gzip data has no end.
  const inflate = () => gunzipSync(wire, { finishFlush: constants.Z_SYNC_FLUSH });
  const text = (isGzip ? inflate() : wire).toString();
  if (path.startsWith('/historical/'))
    return { address: path, bytes: wire.length - SIGNED_BYTES, records: 0, messages: [] };
  return {
    // The address of a file contains a signature, which changes with the time.
    address: isFile ? path.replace(/^\/_files\/\d+|\?.*$/g, '') : path,
    // Each flush adds bytes, so this compresses the text without flushes to get the minimum size.
    bytes: isStream ? gzipSync(text, { level: 4 }).length : wire.length,
    records: isStream || isFile ? text.split('\n').filter(isItem).length : elementsIn(text).length,
    messages: isStream ? text.split('\r\n').filter(line => line !== '') : [],
  };
}
