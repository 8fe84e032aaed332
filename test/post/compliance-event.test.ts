import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseComplianceEvent } from '../../src/post/compliance-event.js';

const parse = (text: string) => {
  const { raw, at, ...told } = parseComplianceEvent(Buffer.from(text));
  expect(raw.toString()).toBe(text);
  return { ...told, ...(at === undefined ? {} : { at: at.getTime() }) };
};
/**
 * A status as in the service's own examples: the numeric id is rounded, and only `id_str` is exact.
 */
const STATUS =
  '"status":{"id":601430178305220600,"id_str":"601430178305220608","user_id":3198576760,"user_id_str":"3198576760"}';
const post = { postId: '601430178305220608', userId: '3198576760', at: 1432228155593 };

describe('a parsed compliance event', () => {
  it.each(['delete', 'drop', 'undrop'])('has the exact id of a post in %s', kind => {
    expect(parse(`{"${kind}":{${STATUS},"timestamp_ms":"1432228155593"}}`)).toEqual({
      kind,
      ...post,
    });
  });

  it('distinguishes the deletion of a like from the deletion of a post', () => {
    const like = STATUS.replace('status', 'favorite');
    expect(parse(`{"delete":{${like},"timestamp_ms":"1432228155593"}}`)).toEqual({
      kind: 'favorite_delete',
      ...post,
    });
  });

  it('contains the countries of status_withheld in both shapes, in upper and lower case', () => {
    const withheld = { kind: 'status_withheld', ...post, countries: ['XY', 'DE'] };
    expect(
      parse(
        `{"status_withheld":{${STATUS},"withheld_in_countries":["XY","de"],"timestamp_ms":"1432228155593"}}`,
      ),
    ).toEqual(withheld);
    expect(
      parse(
        '{"status_withheld":{"id":601430178305220608,"user_id":3198576760,"withheld_in_countries":["xy","DE"],"timestamp_ms":"1432228155593"}}',
      ),
    ).toEqual(withheld);
  });

  it('contains the values of user_withheld in both shapes, with both names and time formats', () => {
    expect(
      parse(
        '{"user_withheld":{"user":{"id":1375036644,"id_str":"1375036644"},"withheld_in_countries":["XY"],"timestampMs":"2014-08-27T23:49:41.839+00:00"}}',
      ),
    ).toEqual({
      kind: 'user_withheld',
      userId: '1375036644',
      countries: ['XY'],
      at: Date.UTC(2014, 7, 27, 23, 49, 41, 839),
    });
    expect(
      parse(
        '{"user_withheld":{"id":1375036644,"timestamp_ms":"1481626100690","withheld_in_countries":["tr"]}}',
      ),
    ).toEqual({
      kind: 'user_withheld',
      userId: '1375036644',
      countries: ['TR'],
      at: 1481626100690,
    });
  });

  it.each([
    ...['user_delete', 'user_undelete', 'user_protect', 'user_unprotect'],
    ...['user_suspend', 'user_unsuspend'],
  ])('has the user id of %s', kind => {
    expect(parse(`{"${kind}":{"id":9007199254740993,"timestamp_ms":"1432228153548"}}`)).toEqual({
      kind,
      userId: '9007199254740993',
      at: 1432228153548,
    });
    expect(
      parse(
        `{"verb":"${kind}","object":{"id":"tag:search.twitter.com,2012:user/1602954684"},"timestampMs":"2015-05-20T21:42:18.944+00:00"}`,
      ),
    ).toEqual({ kind, userId: '1602954684', at: Date.UTC(2015, 4, 20, 21, 42, 18, 944) });
  });

  it('has the user of scrub_geo and the id up to which scrub_geo applies', () => {
    expect(
      parse(
        '{"scrub_geo":{"user_id":519761961,"up_to_status_id":411552403083628540,"up_to_status_id_str":"411552403083628544","user_id_str":"519761961","timestamp_ms":"1432228180345"}}',
      ),
    ).toEqual({
      kind: 'scrub_geo',
      userId: '519761961',
      upToId: '411552403083628544',
      at: 1432228180345,
    });
    expect(
      parse(
        '{"objectType":"activity","verb":"scrub_geo","actor":{"id":"id:twitter.com:598851423"},"target":{"up_to_id":"tag:search.twitter.com,2005:503024492839727104"}}',
      ),
    ).toEqual({ kind: 'scrub_geo', userId: '598851423', upToId: '503024492839727104' });
  });

  it('has the ids of all versions of a post for tweet_edit', () => {
    expect(
      parse(
        '{"tweet_edit":{"id":"1557445923210514432","initial_tweet_id":"1557433858676740098","edit_tweet_ids":["1557433858676740098","1557445923210514432"],"timestamp_ms":"1660155761384"}}',
      ),
    ).toEqual({
      kind: 'tweet_edit',
      postId: '1557445923210514432',
      initialId: '1557433858676740098',
      ids: ['1557433858676740098', '1557445923210514432'],
      at: 1660155761384,
    });
  });

  it('can be a delete or status_withheld event in Activity Streams', () => {
    expect(
      parse(
        '{"objectType":"activity","verb":"delete","object":{"id":"tag:search.twitter.com,2005:601140908713738240"},"actor":{"id":"id:twitter.com:3130171131"}}',
      ),
    ).toEqual({ kind: 'delete', postId: '601140908713738240', userId: '3130171131' });
    expect(
      parse(
        '{"verb":"status_withheld","object":{"id":"tag:search.twitter.com,2005:425794620677554176","user_id":"tag:search.twitter.com,2012:user/1375036644","withheld_in_countries":["XY"]}}',
      ),
    ).toEqual({
      kind: 'status_withheld',
      postId: '425794620677554176',
      userId: '1375036644',
      countries: ['XY'],
    });
  });

  it('has the kind `unknown` if the event is of a new kind or lacks ids', () => {
    for (const [text, name] of [
      ['{"unknown":{"id":1,"timestamp_ms":"1"}}', 'unknown'],
      ['{"delete":{"unknown":{"id":1},"timestamp_ms":"1"}}', 'delete.unknown'],
      ['{"user_delete":{"timestamp_ms":"1"}}', 'user_delete'],
      ['{"status_withheld":{"id":1,"timestamp_ms":"1"}}', 'status_withheld'],
      ['{"user_renamed":{"id":1,"timestamp_ms":"1"}}', 'user_renamed'],
    ] as const)
      expect(parse(text)).toEqual({ kind: 'unknown', name, at: 1 });
    expect(parse('{"verb":"user_renamed"}')).toEqual({ kind: 'unknown', name: 'user_renamed' });
    expect(parse('{}')).toEqual({ kind: 'unknown', name: '' });
    expect(parse('{"drop":7}')).toMatchObject({ kind: 'unknown' });
  });

  it('causes a DataError if it is not an object', () => {
    for (const text of ['[]', '7', 'nonsense', '"delete"'])
      expect(() => parse(text)).toThrow(DataError);
  });

  it('keeps any 64-bit id exact, whether a number or a string', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), id => {
        expect(parse(`{"user_delete":{"id":${id}}}`)).toMatchObject({ userId: String(id) });
        expect(parse(`{"drop":{"status":{"id_str":"${id}"}}}`)).toMatchObject({
          postId: String(id),
        });
      }),
    );
  });

  it('causes no error but a DataError, for any JSON', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        try {
          expect(parse(text)).toHaveProperty('kind');
        } catch (error) {
          expect(error).toBeInstanceOf(DataError);
        }
      }),
    );
  });
});
