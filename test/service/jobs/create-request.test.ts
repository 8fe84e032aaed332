import { describe, expect, it } from 'vitest';
import { localJobs } from './local-jobs.js';

describe('the request to create a job', () => {
  it.each([
    [{ title: undefined }, /Missing field 'title'/],
    [{ title: ' ' }, /'title'.*a string that is not empty/],
    [{ title: 'a\nb' }, /'title'. It must not hold control characters/],
    [{ title: 'a\u0085' }, /'title'. It must not hold control characters/],
    [{ title: 7 }, /'title'.*a string that is not empty/],
    [{ publisher: undefined }, /Missing field 'publisher'/],
    [{ publisher: 'other' }, /The only publisher is 'twitter'/],
    [{ dataFormat: undefined }, /Missing field 'dataFormat'/],
    [{ dataFormat: 'xml' }, /'activity_streams' or 'original'/],
    [
      { dataFormat: 'activity-streams' },
      /'activity-streams' is an older spelling: send 'activity_streams'\./,
    ],
    [{ streamType: 'track' }, /'track' is an older name: send 'track_v2'\./],
    [{ streamType: 'firehose' }, /'streamType'. It must be 'track_v2'/],
    [{ fromDate: undefined }, /Missing field 'fromDate'/],
    [{ fromDate: '2024-05-15' }, /format for field 'fromDate'. Expected format is 'yyyyMMddHHmm'/],
    [{ fromDate: 202405150934 }, /'fromDate'/],
    [{ fromDate: '202402300000' }, /format for field 'fromDate'/],
    [{ fromDate: '200603202359' }, /The archive begins at 200603210000/],
    [{ toDate: '202405151235' }, /'toDate'. Can't ask for activities from the future/],
    [{ fromDate: '202405151034' }, /'fromDate'. It must be before 'toDate'/],
    [{ fromDate: '202405151035' }, /'fromDate'. It must be before 'toDate'/],
    [{ rules: undefined }, /Missing field 'rules'/],
    [{ rules: [] }, /'rules'. It must be in the format/],
    [{ rules: { value: 'tea' } }, /'rules'. It must be in the format/],
    [{ rules: ['tea'] }, /'rules', at number 1/],
    [{ rules: [{ value: 'tea' }, { value: 7 }] }, /'rules', at number 2/],
    [{ rules: [{ value: 'tea', tag: 7 }] }, /'rules', at number 1/],
    [{ rules: Array(1001).fill({ value: 'tea' }) }, /at most 1000 rules, not 1001/],
  ])('is rejected if its fields are changed to %o', async (fields, message) => {
    const jobs = await localJobs();
    const reply = await jobs.post(fields);
    expect(reply.status).toBe(400);
    expect(reply.message).toMatch(message);
    const { error, status, reason } = JSON.parse(reply.text);
    expect(error.sent).toBe('2024-05-15T12:34:56+00:00');
    expect([status, reason]).toEqual(['error', error.message]);
    expect((await jobs.list()).jobs).toEqual([]);
  });

  it('is rejected with all problems in one message', async () => {
    const jobs = await localJobs();
    const { message } = await jobs.post({ title: '', toDate: 'x', rules: undefined });
    expect(message?.split('\n')).toHaveLength(3);
  });

  it('may have a window that ends at the current time and starts at the first minute of the archive', async () => {
    const jobs = await localJobs();
    const fields = { fromDate: '200603210000', toDate: '202405151234' };
    expect((await jobs.post(fields)).status).toBe(201);
  });

  it.each(['twitter', 'Twitter', 'TWITTER'])('may name the publisher %s', async publisher => {
    const jobs = await localJobs();
    const reply = await jobs.post({ publisher });
    expect([reply.status, JSON.parse(reply.text).publisher]).toEqual([201, 'twitter']);
  });

  it('may contain the stream type track_v2 and unknown fields', async () => {
    const jobs = await localJobs();
    const fields = { streamType: 'track_v2', serviceUsername: 'someone' };
    expect((await jobs.post(fields)).status).toBe(201);
  });

  it('is rejected if it names a format that the archive does not have', async () => {
    const jobs = await localJobs();
    expect(await jobs.post({ dataFormat: 'activity_streams' })).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /'dataFormat'. The archive has posts of the format original only/,
      ),
    });
  });

  it.each(['', '{', '[]', '"text"', 'null', '{"title":"\xff"}'])(
    'is rejected with the body %j',
    async text => {
      const jobs = await localJobs();
      const reply = await jobs.ask('/jobs.json', {
        method: 'POST',
        body: Buffer.from(text, 'latin1'),
      });
      expect(reply).toMatchObject({ status: 400, message: expect.stringMatching(/^Invalid JSON/) });
    },
  );

  it('is rejected if its body is too large', async () => {
    const jobs = await localJobs();
    const reply = await jobs.ask('/jobs.json', {
      method: 'POST',
      body: Buffer.alloc(17 << 20, ' '),
    });
    expect(reply.status).toBe(413);
  });
});
