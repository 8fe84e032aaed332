import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { parseInStreamMessage } from '../../../src/post/in-stream-message.js';
import { hourOfPosts, idsIn, localStreams, range, START } from './local-streams.js';

const SENT = '"sent":"2024-05-15T12:34:56+00:00"';

describe('the last message of a replay of the local service', () => {
  it('lists failed minutes in order, and does not count their posts', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    const minutes = ['202405151006', '202405151005', '202405150900'];
    service.faults.plant({ kind: 'minutes-failed', minutes });
    const { messages, complete } = await see(replayPath());
    expect(messages.at(-1)).toBe(
      `{"info":{"message":"Replay Request Completed with Errors",${SENT},"activity_count":58,"minutes_failed":["2024-05-15T10:05:00+00:00","2024-05-15T10:06:00+00:00"]}}`,
    );
    expect(idsIn(messages)).toEqual([...range(0, 5), ...range(7, 60)]);
    expect(complete).toBe(true);
    const again = await see(replayPath('firehose', START + 5 * MINUTE, START + 7 * MINUTE));
    expect(idsIn(again.messages)).toEqual(range(5, 7));
    expect(again.messages.at(-1)).toContain('"Replay Request Completed"');
  });

  it('states the unprocessed range, up to the end of the window', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151010' });
    const { messages, complete } = await see(replayPath());
    expect(messages.at(-1)).toBe(
      `{"info":{"message":"Replay Request Failed to Complete",${SENT},"unprocessed_range":{"fromDate":"2024-05-15T10:10:00+00:00","toDate":"2024-05-15T11:00:00+00:00"},"activity_count":10}}`,
    );
    expect(idsIn(messages)).toEqual(range(0, 10));
    expect(complete).toBe(true);
  });

  it('can be parsed by parseInStreamMessage', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts(3));
    const last = async () =>
      parseInStreamMessage(Buffer.from((await see(replayPath())).messages.at(-1) as string));
    expect(await last()).toMatchObject({ outcome: 'completed', activityCount: 3 });
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151001'] });
    expect(await last()).toMatchObject({
      outcome: 'completed_with_errors',
      activityCount: 2,
      minutesFailed: [START + MINUTE],
    });
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151001' });
    expect(await last()).toMatchObject({
      outcome: 'failed',
      activityCount: 1,
      unprocessedRange: { from: START + MINUTE, to: START + 60 * MINUTE },
    });
  });
});
