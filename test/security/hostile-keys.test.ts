import fc from 'fast-check';
import { createService } from 'millrace/service';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unwrapCursor } from '../../src/flow/operator-state.js';
import { checkJobRequest } from '../../src/jobs/job-request.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { Activity } from '../../src/post/activity.js';
import { parseReplayCursor } from '../../src/replay/replay-cursor.js';
import { cursorOf, positionOf } from '../../src/search/query-cursor.js';
import { unchecked } from '../unchecked.js';

/**
 * Keys that every object inherits, or that change the prototype of an object if they are assigned.
 */
const KEYS = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'polluted'];

/** Generates JSON text, because an object literal would lose a `__proto__` key. */
const json = fc.letrec<{ value: string; object: string }>(tie => ({
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), tie('value')), {
      selector: ([key]) => key,
      minLength: 1,
      maxLength: 4,
    })
    .map(members => `{${members.map(([key, value]) => `"${key}":${value}`).join(',')}}`),
  value: fc.oneof({ maxDepth: 3 }, fc.constantFrom('1', '"x"', 'null', '[]'), tie('object')),
})).object;

function expectClean(...values: readonly unknown[]): void {
  for (const name of ['polluted', 'x']) expect(name in {}, name).toBe(false);
  expect('polluted' in Object).toBe(false);
  expect(Object.hasOwn(Object.prototype, 'hasOwnProperty')).toBe(true);
  for (const value of values)
    if (typeof value === 'object' && value !== null)
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
}

function orRefused<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_/) });
    return undefined;
  }
}

const members = (object: string) => object.slice(1, -1);

describe('a key such as __proto__', () => {
  it('in a post changes no other object, even if the matching rules are replaced', () => {
    const rules = KEYS.map((tag, index) => ({ tag, value: tag, id: String(index) }));
    fc.assert(
      fc.property(json, json, (outer, inner) => {
        const text = `{${members(outer)},"id_str":"1","created_at":"Sat Jan 06 20:00:00 +0000 2018","text":"","user":${inner}}`;
        const copy = new Activity(Buffer.from(text)).withMatchingRules(rules);
        // All other bytes are unchanged.
        expect(copy.raw.toString().startsWith(text.slice(0, -1))).toBe(true);
        const own = (value: object) => Object.keys(value).toSorted();
        expectClean(copy.matchingRules[0]);
        expect(own(copy.post)).toEqual([...own(JSON.parse(text)), 'matching_rules'].toSorted());
        expect(copy.matchingRules.map(({ tag }) => tag)).toEqual(KEYS);
        expect(JSON.stringify(parseExact(text))).toBe(JSON.stringify(JSON.parse(text)));
        expectClean();
      }),
    );
  });

  it('in the request for a job causes an error or is not sent', () => {
    const valid = {
      title: 'rain',
      dataFormat: 'original',
      rules: [{ value: 'rain', tag: 'x' }],
      fromDate: '201401010000',
      toDate: '201401020000',
    };
    let accepted = 0;
    fc.assert(
      fc.property(json, json, (inRequest, inRule) => {
        const rule = JSON.parse(`{"value":"rain",${members(inRule)}}`);
        const request = JSON.parse(`{${JSON.stringify(valid).slice(1, -1)},${members(inRequest)}}`);
        expect(orRefused(() => checkJobRequest('jobs.create', request))).toBeUndefined();
        const checked = checkJobRequest('jobs.create', unchecked({ ...valid, rules: [rule] }));
        accepted++;
        expectClean(checked, ...checked.rules);
        expect(checked.rules).toStrictEqual([{ value: 'rain' }]);
      }),
    );
    expect(accepted).toBeGreaterThan(0);
  });

  it('in a cursor causes an error or is dropped', () => {
    const query = unchecked({ source: 'search', identity: { query: 'rain' } });
    const position = {
      slice: 0,
      next: 'abc',
      skip: 3,
      items: 503,
      pages: 1,
      done: false,
      reached: Date.UTC(2018, 0, 20, 12, 30, 5),
      window: unchecked({ fromDate: '201801010000', toDate: '201802010000' }),
    };
    const text = JSON.stringify(cursorOf(query, position));
    const replay =
      '"source":"replay","request":{"url":"x"},"open":[],"gaps":[],"chunkMinutes":16,"connects":[]';
    fc.assert(
      fc.property(json, json, (hostile, ids) => {
        const cursor = JSON.parse(`{${text.slice(1, -1)},${members(hostile)}}`);
        const read = orRefused(() => positionOf(query, cursor));
        expectClean(read);
        if (read !== undefined) expect(Object.keys(read).filter(isHostile)).toEqual([]);
        const other = JSON.parse(`{${replay},"ids":${ids},${members(hostile)}}`);
        expectClean(orRefused(() => parseReplayCursor({ url: 'x' }, other))?.state);
        const wrapped = JSON.parse(`{"dedupe":${ids},"inner":${hostile},${members(hostile)}}`);
        expectClean(orRefused(() => unwrapCursor('dedupe', wrapped)));
      }),
    );
  });

  it('in a request to the local service causes a 422 or remains data of an event', async () => {
    const service = createService();
    const { baseUrl } = await service.start();
    onTestFinished(() => service.stop());
    const login = `Basic ${Buffer.from('dev@example.com:local-service').toString('base64')}`;
    const statuses = {
      '_control/faults': [422],
      '_control/clock': [422],
      // An event may be any object with a single member.
      '_control/compliance': [201, 422],
      'search/30day/accounts/local/dev.json': [422],
    };
    const paths = Object.keys(statuses) as (keyof typeof statuses)[];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), json, async (name, hostile) => {
        const { status } = await fetch(`${baseUrl}/${name}`, {
          method: 'POST',
          body: hostile,
          headers: { authorization: login },
        });
        expect(statuses[name], name).toContain(status);
        expectClean();
      }),
    );
  });
});

function isHostile(key: string): boolean {
  return KEYS.includes(key);
}
