import { checkOptions, type OptionTable, oneOf, whole } from '../check.js';
import { bytesOf } from '../flow/bytes-of.js';
import { type Batches, batchesOf, Flow, identityOf, type Operator } from '../flow/flow.js';
import { WholeFiles } from '../flow/whole-files.js';
import { workAhead } from '../flow/work-ahead.js';
import { GzipFile, type InflateLimits } from '../gzip/gzip-file.js';

export interface GunzipOptions {
  /**
   * What to do with a file that is not gzip: fail, or let its bytes through.
   * @default 'refuse'
   */
  readonly plain?: 'refuse' | 'pass' | undefined;
  /**
   * Most bytes that one file may hold once inflated. No more than some 40 MiB of large files are ever
   * in memory, whatever this is.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
}

const OPTIONS = {
  plain: oneOf('what to do with a file that is not gzip', ['refuse', 'pass'], 'refuse'),
  maxBytes: whole('bytes of one file once inflated', {
    min: 1,
    orInfinity: true,
    default: Number.POSITIVE_INFINITY,
  }),
} satisfies OptionTable<GunzipOptions>;

/**
 * Inflates gzip, whatever the number of members. Whole files that come as one batch, such as those
 * of `localFiles`, inflate side by side in the thread pool, in order; bytes of a live stream come
 * out as soon as they came in.
 *
 * A file that is cut short, corrupt, or followed by anything but zeros throws a `DataError` with
 * file and byte, after what could be inflated (of a corrupt stream, up to 16 KiB before that). Where the input has edges, each file must be complete
 * at its own.
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function gunzip(options: GunzipOptions = {}): Operator<Uint8Array, Buffer> {
  const limits = checkOptions('gunzip', OPTIONS, options);
  return input =>
    new Flow(
      (run, lends) => inflated(batchesOf(input, { ...run, borrows: true }), limits, lends),
      undefined,
      identityOf(input),
    );
}

async function* inflated(
  input: Batches<Uint8Array>,
  limits: InflateLimits,
  lends: boolean,
): Batches<Buffer> {
  let file: GzipFile | undefined;
  const whole = new WholeFiles(limits, lends);
  try {
    for await (const { item: batch, result } of workAhead(input, whole.begin, whole.ahead)) {
      const { items, cursor, origin } = batch;
      if (result !== undefined) {
        yield* whole.batches(result, batch);
        continue;
      }
      let last: readonly Buffer[] = [];
      try {
        for (const item of items) {
          file ??= new GzipFile({ ...limits, origin });
          for (const blocks of file.push(bytesOf(item))) {
            if (last.length > 0) yield { items: last, origin };
            last = blocks;
          }
        }
        if (cursor !== undefined) {
          file?.end();
          file?.close();
          file = undefined;
        }
      } catch (error) {
        if (last.length > 0) yield { items: last, origin };
        throw error;
      }
      if (last.length > 0 || cursor !== undefined) yield { items: last, cursor, origin };
    }
    file?.end();
  } finally {
    file?.close();
    whole.close();
  }
}
