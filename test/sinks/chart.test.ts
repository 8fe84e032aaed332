import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type ChartedBucket, chart } from '../../src/sinks/chart.js';

function bucketsOf(...counts: number[]): Flow<ChartedBucket> {
  return new Flow(async function* () {
    yield {
      items: counts.map((count, index) => ({
        timePeriod: `2020010${index + 1}0000`,
        count,
      })),
    };
  });
}

function screen(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}

describe('chart', () => {
  it('draws one column per bucket, starting at zero, and resolves to the sum', async () => {
    const { stream, text } = screen();
    expect(await pipeline(bucketsOf(0, 10, 20), chart({ height: 2, stream }))).toBe(30);
    expect(text()).toBe(
      [
        '     20.0 ┼ ╭ ',
        '     10.0 ┤╭╯ ',
        '      0.0 ┼╯  ',
        '202001010000 to 202001030000, a bucket a column',
        '',
      ].join('\n'),
    );
  });

  it('draws the oldest bucket on the left, whatever the order of the buckets', async () => {
    const [up, down] = [screen(), screen()];
    await pipeline(bucketsOf(1, 5, 9), chart({ stream: up.stream }));
    const backwards = new Flow<ChartedBucket>(async function* () {
      for await (const { items } of bucketsOf(1, 5, 9).batches())
        yield { items: items.toReversed() };
    });
    await pipeline(backwards, chart({ stream: down.stream }));
    expect(down.text()).toBe(up.text());
  });

  it('is 80 columns wide if the terminal reports no width', async () => {
    const drawn = [80, 0].map(async columns => {
      const { stream, text } = screen();
      const terminal = Object.assign(stream, { columns });
      await pipeline(bucketsOf(...Array(9).keys()), chart({ height: 2, stream: terminal }));
      return text();
    });
    const [usual, unknown] = await Promise.all(drawn);
    expect(unknown).toBe(usual);
  });

  it('adds up adjacent buckets if there are more buckets than columns', async () => {
    const { stream, text } = screen();
    expect(await pipeline(bucketsOf(1, 1, 1, 1, 1), chart({ width: 3, height: 1, stream }))).toBe(
      5,
    );
    expect(text()).toContain('2 buckets a column');
    expect(text().split('\n')[0]?.trimEnd().length).toBeLessThanOrEqual(14);
  });

  it.each([
    ['draws a single bucket', [7], 7, /a bucket a column/],
    ['draws zeros', [0, 0], 0, /a bucket a column/],
    ['prints a message if there are no buckets', [], 0, /No buckets/],
  ] as const)('%s', async (_, counts, sum, expected) => {
    const { stream, text } = screen();
    expect(await pipeline(bucketsOf(...counts), chart({ stream }))).toBe(sum);
    expect(text()).toMatch(expected);
  });

  it('throws an OptionError for invalid sizes before it reads its input', () => {
    expect(() => chart({ height: 0 })).toThrow(OptionError);
    expect(() => chart({ width: 1.5 })).toThrow('width');
  });

  it('resolves if the pipe is closed, but rejects if the stream fails for another reason', async () => {
    const breaking = (code: string) =>
      new Writable({ write: (_chunk, _, done) => done(Object.assign(new Error(code), { code })) });
    expect(await pipeline(bucketsOf(1), chart({ stream: breaking('EPIPE') }))).toBe(1);
    await expect(pipeline(bucketsOf(1), chart({ stream: breaking('EIO') }))).rejects.toThrow(
      StorageError,
    );
  });
});
