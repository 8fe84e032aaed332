import { describe, expect, it } from 'vitest';
import { DataError, IncompleteError } from '../../src/base/errors.js';
import type { Cursor } from '../../src/flow/flow.js';
import { search } from '../../src/search/search.js';
import type { Reply } from '../http/scripted-server.js';
import { afterPages, ECHO, PAGE, run, server, setUpFaultyServer } from './faulty-search.js';
import { raw, testAccount } from './paged-service.js';
import { SNOW } from './scripted-search.js';

setUpFaultyServer();

describe('a search that receives an invalid response', () => {
  const page = (more: object) =>
    raw(JSON.stringify({ results: [{ id_str: '1' }], ...ECHO, ...more }));
  const params = (more: object) =>
    page({ requestParameters: { ...ECHO.requestParameters, ...more } });
  const wrong: [string, Reply][] = [
    ['no results', raw('{}')],
    ['results that are null', raw('{"results":null}')],
    ['results that are an object', raw('{"results":{}}')],
    ['an array', raw('[]')],
    ['text', raw('<html>Welcome</html>')],
    ['JSON followed by another document', raw(`${JSON.stringify(PAGE)} {}`)],
    ['JSON without a comma between results', raw('{"results":[{} {}]}')],
    ['JSON that is invalid outside its results', raw('{"results":[{}], next: 1}')],
    ['results twice', raw('{"results":[{}],"results":[{}]}')],
    ['a result that is text', page({ results: ['post'] })],
    ['a result that is null', page({ results: [null] })],
    ['a next that is a number', page({ next: 5 })],
    ['a next that is empty', page({ next: '' })],
    ['other dates', params({ fromDate: '202401010001' })],
    ['other dates at the end', params({ toDate: '202402010000' })],
    ['another maxResults', params({ maxResults: 100 })],
    ['an invalid date', params({ fromDate: 'yesterday' })],
    ['request parameters that are text', page({ requestParameters: 'same' })],
  ];

  it.each(wrong)('ends with an error for %s', async (_what, reply) => {
    server.script.push(reply);
    const { found, error } = await run();
    expect(error).toBeInstanceOf(DataError);
    expect(found).toEqual([]);
    afterPages(1, reply);
    const later = await run();
    expect(later.error).toBeInstanceOf(IncompleteError);
    expect((later.error as IncompleteError).cause).toBeInstanceOf(DataError);
    expect(later.found.length).toBe(10);
    await new Promise(resolve => setTimeout(resolve, 5));
    expect(server.received.length).toBe(3);
  });

  it('passes the number of a damaged result in its page to onDamaged', async () => {
    server.script.push(page({ results: [{ id_str: '1' }, { id_str: '2' }, { text: 'no id' }] }));
    const numbers: unknown[] = [];
    const onDamaged = ({ record }: { readonly record?: number | undefined }) =>
      void numbers.push(record);
    for await (const _ of search(testAccount(server), { ...SNOW, onDamaged }));
    expect(numbers).toEqual([3]);
  });

  it('ends with an error if the `next` token is the same as on the previous page', async () => {
    server.script.push(page({ next: 'a' }), page({ next: 'b' }), page({ next: 'b' }));
    const { found, error } = await run();
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as Error).message).toContain('repeats the `next` token b');
    expect(found.length).toBe(2);
    expect(server.received.length).toBe(3);
  });

  it('ends with an error if the `next` tokens form a cycle', async () => {
    for (let i = 0; i < 3; i++)
      for (const next of ['a', 'b', 'c']) server.script.push(page({ next }));
    // This page ends the search if the search does not notice the cycle.
    server.script.push(page({}));
    const { found, error } = await run();
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as IncompleteError).cause).toBeInstanceOf(DataError);
    expect(found.length).toBe(3);
  });

  it('ends with an error if a resumed run receives an earlier `next` token again', async () => {
    server.script.push(page({ next: 'a' }), page({ next: 'b' }));
    const first = await run({ pages: 1 });
    server.script.unshift(page({ next: 'a' }));
    const { error } = await run({ resume: first.cursor as Cursor });
    expect((error as Error).message).toContain('repeats');
  });

  it('ends with an error if the default dates change from page to page', async () => {
    const moved = (toDate: string) =>
      page({ next: toDate, requestParameters: { fromDate: '202401010000', toDate } });
    const { fromDate: _f, toDate: _t, ...undated } = SNOW;
    const search30 = async (resume?: Cursor) => {
      const found: unknown[] = [];
      let cursor: Cursor | undefined;
      const flow = search(testAccount(server), { ...undated, product: '30day' });
      try {
        for await (const batch of flow.batches({ resume })) {
          found.push(...batch.items);
          cursor = batch.cursor;
        }
      } catch (error) {
        return { found, cursor, error };
      }
      throw new Error('It did not fail');
    };
    server.script.push(moved('202401310000'), moved('202401310001'));
    const { found, cursor, error } = await search30();
    expect(found.length).toBe(1);
    expect((error as Error).message).toContain('its toDate is 202401310001, not 202401310000');
    server.script.push(moved('202401310002'));
    const resumed = await search30(cursor);
    expect((resumed.error as Error).message).toContain('its toDate is 202401310002');
  });
});
