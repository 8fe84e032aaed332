import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import {
  checkDecodedFile,
  checkJobFile,
  checkJobFileStream,
} from '../../src/jobs/check-job-file.js';
import { unchecked } from '../unchecked.js';

const ORIGIN = 'a.json.gz';

const fileOf = (info: object) => gzipSync(`{"id":1}\n${JSON.stringify({ info })}\n`);

const decoded = (info: object) =>
  unchecked({ messages: [Buffer.from(JSON.stringify({ info }))], rows: { count: 1 } });

const rangeTo = (toDate: string) => ({
  message: 'x',
  activity_count: 1,
  unprocessed_range: { fromDate: '2018-01-06T20:00:00Z', toDate },
});

describe('the info line of a job file', () => {
  it('names the minutes that may be incomplete', async () => {
    const info = rangeTo('2018-01-06T20:02:00Z');
    const file = fileOf(info);
    const expected = {
      bytes: file.length,
      posts: 1,
      suspectMinutes: ['201801062000', '201801062001'],
    };
    expect(await checkJobFile(file, ORIGIN, 1_000)).toMatchObject(expected);
    expect(await checkJobFileStream([file], ORIGIN)).toEqual(expected);
    expect(checkDecodedFile(file, decoded(info))).toEqual(expected);
  });

  it.each([
    ['a range of more than a day, which could fill the memory', rangeTo('2018-01-09T00:00:00Z')],
    ['an invalid time', rangeTo('later')],
    ['another number of posts', { message: 'x', activity_count: 2 }],
  ])('causes an error if it has %s', async (_, info) => {
    const file = fileOf(info);
    for (const check of [
      () => checkJobFile(file, ORIGIN, 1_000),
      () => checkJobFileStream([file], ORIGIN),
    ]) {
      const error = await check().catch(thrown => thrown);
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ retryable: true, position: { origin: ORIGIN } });
    }
    expect(checkDecodedFile(file, decoded(info))).toBeUndefined();
  });
});

it('a job file that is not compressed causes an error, even if a worker thread has decoded it', async () => {
  const info = { message: 'x', activity_count: 1 };
  const text = Buffer.from(`{"id":1}\n${JSON.stringify({ info })}\n`);
  await expect(checkJobFile(text, ORIGIN, 1_000)).rejects.toThrow(DataError);
  expect(checkDecodedFile(text, decoded(info))).toBeUndefined();
});

it('the line number of a damaged line of a job file includes blank lines', async () => {
  const blank = '\n'.repeat(100_000);
  const search = vi.spyOn(Buffer.prototype, 'indexOf');
  try {
    const { posts } = await checkJobFile(gzipSync(`${blank}{"id":1}\n`), ORIGIN, 1_000_000);
    expect(posts).toBe(1);
    expect(search.mock.calls.length).toBeLessThan(100);
  } finally {
    search.mockRestore();
  }
  await expect(
    checkJobFile(gzipSync(`${blank}damaged\n`), ORIGIN, 1_000_000),
  ).rejects.toMatchObject({
    position: { origin: ORIGIN, line: 100_001 },
  });
});
