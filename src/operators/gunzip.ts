import { checkOptions, type OptionTable, oneOf, whole } from '../base/check.js';
import { stageFlow } from '../files/planned.js';
import type { Batches, Operator } from '../flow/flow.js';
import { inflateBatches } from '../flow/inflate-batches.js';
import type { Bytes, FileBytes } from '../json/json-record.js';

/** What `gunzip` does with files that are not gzip or inflate to too many bytes. */
export interface GunzipOptions {
  /**
   * What to do with a file that is neither gzip nor zstd: fail, or pass its bytes through.
   * @default 'refuse'
   */
  readonly plain?: 'refuse' | 'pass' | undefined;
  /**
   * The maximum inflated size of one file, in bytes. Memory is bounded without it: at most about 40 MiB
   * of large files are held at a time.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
}

const OPTIONS = {
  plain: oneOf(
    'what to do with a file that is neither gzip nor zstd',
    ['refuse', 'pass'],
    'refuse',
  ),
  maxBytes: whole('bytes of one file once inflated', {
    min: 1,
    orInfinity: true,
    default: Number.POSITIVE_INFINITY,
  }),
} satisfies OptionTable<GunzipOptions>;

/**
 * Inflates gzip files of one or several members, and zstd files where Node has zstd (22.15 and later); the
 * first bytes of a file tell which it is. Gzip files that come as one batch, such as those of
 * `localFiles`, inflate in the thread pool ahead of their turn and are delivered in order; bytes of a
 * live stream are delivered as soon as they arrive.
 *
 * @throws OptionError Immediately, when an option is invalid.
 * @throws DataError From the flow, with file and byte, when a file is cut short, is corrupt, is zstd and
 * this Node cannot read it, or has anything but zeros after its end. What was inflated before the error
 * is delivered first; of a corrupt file, up to 16 KiB before the damage may be missing.
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function gunzip(options: GunzipOptions = {}): Operator<Bytes, Buffer & FileBytes> {
  const limits = checkOptions('gunzip', OPTIONS, options);
  return input =>
    stageFlow(
      input,
      batches => inflateBatches(batches, limits) as Batches<Buffer & FileBytes>,
      (plan, stage) => plan.inflated(limits, stage),
    );
}
