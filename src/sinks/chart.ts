import type { Writable } from 'node:stream';
import asciichart from 'asciichart';
import { checkOptions, type OptionTable, whole, writable } from '../base/check.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { wrongItem } from '../flow/wrong-item.js';
import { print } from '../storage/print.js';

/** The fields of a bucket that a chart reads. The buckets of `counts` have them. */
export interface ChartedBucket {
  /** The start of the bucket: `YYYYMMDDHHMM`, UTC. */
  readonly timePeriod: string;
  readonly count: number;
}

/** Options of `chart`: the size of the plot, and the stream to write it to. */
export interface ChartOptions {
  /** The height of the plot in lines. @default 10 */
  readonly height?: number | undefined;
  /**
   * The width of the plot in columns. If there are more buckets than columns, each column shows the sum of
   * several adjacent buckets.
   * @default the width of the terminal (80 if unknown), minus the width of the axis
   */
  readonly width?: number | undefined;
  /** The stream to write to. The sink does not end it. @default process.stdout */
  readonly stream?: Writable | undefined;
}

const OPTIONS = {
  height: whole('lines of the plot', { min: 1, default: 10 }),
  width: whole('columns of the plot', { min: 1 }),
  stream: writable('where the chart goes'),
} satisfies OptionTable<ChartOptions>;

const AXIS = 14;

/**
 * Draws counts as a chart on the terminal once all buckets have arrived, with the oldest bucket on the left.
 * Resolves to the sum of all counts. Holds all buckets in memory.
 *
 * @throws OptionError Immediately, for a height or width that is not a whole number of at least 1.
 * @throws DataError for an item that is not a bucket.
 * @throws StorageError if the stream fails, except for a closed pipe.
 * @example
 * const posts = await pipeline(
 *   counts(account(), { product: '30day', query: 'snow', bucket: 'day' }),
 *   chart(),
 * );
 */
export function chart(options: ChartOptions = {}): Sink<ChartedBucket, number> {
  const { height, width, stream = process.stdout } = checkOptions('chart', OPTIONS, options);
  // A terminal whose size is unknown reports 0 columns.
  const columns = ('columns' in stream && Number(stream.columns)) || 80;
  const plotWidth = width ?? Math.max(1, columns - AXIS);
  return async (input, run) => {
    const buckets: ChartedBucket[] = [];
    for await (const { items, origin } of batchesOf(input, run))
      for (const item of items) {
        if (!isBucket(item))
          throw wrongItem(item, {
            need: 'chart() draws buckets of counts',
            reads: 'buckets of counts',
            origin,
          });
        buckets.push(item);
      }
    buckets.sort((a, b) => (a.timePeriod < b.timePeriod ? -1 : 1));
    run?.progress?.clear();
    await print(stream, draw(buckets, height, plotWidth), 'the chart');
    return buckets.reduce((sum, { count }) => sum + count, 0);
  };
}

function isBucket(item: unknown): item is ChartedBucket {
  const { timePeriod, count } = Object(item) as Partial<ChartedBucket>;
  return typeof timePeriod === 'string' && Number.isFinite(count);
}

function draw(buckets: readonly ChartedBucket[], height: number, width: number): string {
  const [first] = buckets;
  if (first === undefined) return 'No buckets to draw\n';
  const together = Math.ceil(buckets.length / width);
  const sums: number[] = [];
  for (let at = 0; at < buckets.length; at += together)
    sums.push(buckets.slice(at, at + together).reduce((sum, { count }) => sum + count, 0));
  const format = (value: number) => value.toFixed(sums.some(sum => sum < 10) ? 1 : 0).padStart(9);
  // asciichart needs 2 points to draw a line.
  const series = sums.length === 1 ? [...sums, ...sums] : sums;
  const plot = asciichart.plot(series, { height, min: 0, format });
  const perColumn = together === 1 ? 'a bucket' : `${together} buckets`;
  return `${plot}\n${first.timePeriod} to ${buckets.at(-1)?.timePeriod}, ${perColumn} a column\n`;
}
