import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseConnectionMessage, parseInStreamMessage } from '../../src/post/in-stream-message.js';
import { arbitraryPost } from './arbitrary-post.js';
import { printJson, style, type Value } from './print-json.js';

const parse = (message: Value) => parseInStreamMessage(Buffer.from(printJson(message)));

describe('parseInStreamMessage', () => {
  it('parses the three final messages of a replay', () => {
    expect(
      parse({
        info: {
          message: 'Replay Request Completed',
          sent: '2016-05-27T22:15:50+00:00',
          activity_count: 8874,
        },
      }),
    ).toEqual({
      kind: 'info',
      message: 'Replay Request Completed',
      outcome: 'completed',
      sent: new Date('2016-05-27T22:15:50Z'),
      activityCount: 8874,
      minutesFailed: [],
      unprocessedRange: undefined,
    });
    expect(
      parse({
        info: {
          message: 'Replay Request Completed with Errors',
          sent: '2016-05-27T16:00:02+00:00',
          activity_count: 56333,
          minutes_failed: ['2013-02-20T00:05:00+00:00', '2013-02-20T00:06:00+00:00'],
        },
      }),
    ).toMatchObject({
      outcome: 'completed_with_errors',
      minutesFailed: [Date.UTC(2013, 1, 20, 0, 5), Date.UTC(2013, 1, 20, 0, 6)],
    });
    expect(
      parse({
        info: {
          message: 'Replay Request Failed to Complete',
          sent: '2016-06-27T16:37:13+00:00',
          unprocessed_range: {
            fromDate: '2016-06-26T00:00:00+00:00',
            toDate: '2016-06-26T00:01:00+00:00',
          },
          activity_count: 1822,
        },
      }),
    ).toMatchObject({
      outcome: 'failed',
      activityCount: 1822,
      unprocessedRange: { from: Date.UTC(2016, 5, 26), to: Date.UTC(2016, 5, 26, 0, 1) },
    });
  });

  it('parses an error with its time', () => {
    const sent = '2013-01-11T18:12:52+00:00';
    expect(parse({ error: { message: 'Too many connections.', sent } })).toEqual({
      kind: 'error',
      message: 'Too many connections.',
      sent: new Date(sent),
    });
  });

  it('parses a warning without a time', () => {
    expect(parse({ warn: { message: 'Falling behind', percent_full: 60 } })).toEqual({
      kind: 'warn',
      message: 'Falling behind',
      sent: undefined,
    });
  });

  it.each([
    ['limit', { track: 12 }],
    ['delete', { status: { id: 1234567890123456789n, user_id: 3 } }],
    ['warning', { code: 'FALLING_BEHIND', message: 'Falling behind' }],
    ['disconnect', { code: 4, stream_name: 'x' }],
    ['scrub_geo', { user_id: 3, up_to_status_id: 4 }],
    ['status_withheld', { id: 3, withheld_in_countries: ['DE'] }],
    ['user_withheld', { id: 3, withheld_in_countries: ['DE'] }],
  ] satisfies [string, Value][])('parses the stream notice %s', (kind, notice) => {
    const message = kind === 'warning' ? 'Falling behind' : expect.stringMatching(/^{.*}$/);
    expect(parse({ [kind]: notice })).toEqual({ kind, message, sent: undefined });
    expect(parseConnectionMessage(Buffer.from(printJson({ [kind]: notice })))).toBeUndefined();
  });

  it('uses the value as the message if the value is a string', () => {
    expect(parse({ error: 'No' })).toMatchObject({ message: 'No' });
  });

  it('uses the whole JSON as the message if it contains no text', () => {
    expect(parse({ error: { code: 7 } })).toMatchObject({ message: '{"code":7}' });
    expect(parse({ info: null })).toMatchObject({ outcome: undefined, message: 'null' });
  });

  it('parses a message however its JSON is formatted', () => {
    fc.assert(
      fc.property(style, look => {
        const message = { sent: 'now', info: { message: 'Replay Request Completed', n: [1] } };
        expect(parseInStreamMessage(Buffer.from(printJson(message, look)))).toMatchObject({
          outcome: 'completed',
        });
      }),
    );
  });

  it('returns undefined for a post of any content, however its JSON is formatted', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes }) => {
        expect(parseInStreamMessage(bytes)).toBeUndefined();
      }),
    );
  });

  it('returns undefined for a document that is neither a message nor a post', () => {
    for (const document of ['', '[]', '{}', '{"information":1}', '{"other":{"info":1}}', 'info'])
      expect(parseInStreamMessage(Buffer.from(document))).toBeUndefined();
  });

  it('throws a DataError for an unreadable minute, which would be lost otherwise', () => {
    expect(() => parse({ info: { message: 'x', minutes_failed: ['soon'] } })).toThrow(DataError);
    expect(() => parse({ info: { message: 'x', unprocessed_range: {} } })).toThrow(DataError);
    expect(() => parseInStreamMessage(Buffer.from('{"info":{'))).toThrow(DataError);
  });
});
