import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../src/base/time.js';
import { parseExact } from '../../../src/json/exact-ids.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';
import { AUTHORIZATION } from '../local-service.js';
import { hourOfPosts, localStreams, type Reply } from './local-streams.js';

interface Rule {
  readonly value: string;
  readonly tag: string | null;
  readonly id: string;
}

interface Body {
  readonly rules: readonly Rule[];
  readonly summary: Readonly<Record<string, number>>;
  readonly detail: readonly (Readonly<Record<string, unknown>> & { readonly rule: Rule })[];
  readonly sent: string;
  readonly error: { readonly message: string; readonly sent: string };
}

function bodyOf({ text }: Reply): Body {
  return parseExact(text) as Body;
}

const FORMAT =
  'Invalid JSON. The body must be in the format {"rules":[{"value":"rule1", "tag":"tag1"}, {"value":"rule2"}]} or {"rule_ids": [rule_id1, rule_id2, rule_id3, rule_id4, rule_id5]}';

describe('a request to add replay rules', () => {
  it('gives each rule an integer id that a double cannot represent', async () => {
    const { rules } = await localStreams();
    const reply = await rules('POST', '.json', {
      rules: [
        { value: 'black tea', tag: 'drinks' },
        { value: 'coffee' },
        { value: 'x', tag: null },
      ],
    });
    expect(reply.status).toBe(201);
    const { summary, detail, sent } = bodyOf(reply);
    expect(summary).toEqual({ created: 3, not_created: 0 });
    expect(sent).toBe('2024-05-15T12:34:56.789Z');
    const ids = detail.map(({ rule }) => rule.id);
    expect(detail).toEqual([
      { rule: { value: 'black tea', tag: 'drinks', id: ids[0] }, created: true },
      { rule: { value: 'coffee', tag: null, id: ids[1] }, created: true },
      { rule: { value: 'x', tag: null, id: ids[2] }, created: true },
    ]);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) {
      expect(BigInt(id)).toBeGreaterThan(2n ** 53n);
      expect(BigInt(id)).toBeLessThan(2n ** 63n);
      expect(reply.text).toContain(`"id":${id}}`);
    }
  });

  it('does not change an existing rule with the same value, and returns that rule with the requested tag', async () => {
    const { rules, addRules } = await localStreams();
    const [id] = await addRules({ value: 'tea', tag: 'old' });
    const wanted = [{ value: 'tea', tag: 'new' }, { value: 'Tea' }, { value: 'Tea' }];
    const reply = await rules('POST', '.json', { rules: wanted });
    expect(reply.status).toBe(201);
    const { summary, detail } = bodyOf(reply);
    const message = 'A rule with this value already exists';
    expect(summary).toEqual({ created: 1, not_created: 2 });
    expect(detail).toMatchObject([
      { rule: { value: 'tea', tag: 'new', id }, created: false, message },
      { rule: { value: 'Tea' }, created: true },
      { rule: { value: 'Tea' }, created: false, message },
    ]);
    expect(bodyOf(await rules('GET', '.json')).rules).toMatchObject([
      { value: 'tea', tag: 'old', id },
      { value: 'Tea', tag: null },
    ]);
  });

  it('gives a rule a new id when the rule is added again, even if the clock is frozen', async () => {
    const { rules, addRules } = await localStreams();
    const [before] = await addRules({ value: 'tea' });
    await rules('DELETE', '.json', { rules: [{ value: 'tea' }] });
    const [after] = await addRules({ value: 'tea' });
    expect(after).not.toBe(before);
  });

  it('adds no rule if one is invalid, and lists the reason for each', async () => {
    const { rules } = await localStreams();
    const reply = await rules('POST', '.json', {
      rules: [
        { value: 'tea', tag: 't' },
        { value: '-follow' },
        { value: 'cat has:vidoes' },
        { value: 'cat', tag: 'x'.repeat(256) },
        { value: 'x'.repeat(2049) },
      ],
    });
    expect(reply.status).toBe(422);
    const { summary, detail } = bodyOf(reply);
    expect(summary).toEqual({ created: 0, not_created: 5 });
    expect(detail[0]).toEqual({ rule: { value: 'tea', tag: 't' }, created: false });
    expect(detail[1]).toEqual({
      rule: { value: '-follow', tag: null },
      created: false,
      message:
        'Rules must contain a non-negation term (at position 1)\nRules must contain at least one positive, non-stopword clause (at position 1)\n',
    });
    expect(detail[2]?.message).toContain('has:vidoes');
    expect(detail[3]?.message).toContain('255');
    expect(detail[4]?.message).toContain('2048');
    expect(bodyOf(await rules('GET', '.json')).rules).toEqual([]);
  });

  it('accepts operators that only streams have, and has: and is: without other operators', async () => {
    const { addRules } = await localStreams();
    expect(await addRules({ value: 'contains:tea bio:cook' })).toHaveLength(1);
    expect(await addRules({ value: '(has:media is:verified) -is:nullcast' })).toHaveLength(1);
  });

  it.each([
    ['invalid JSON', '{"rules":'],
    ['nothing', ''],
    ['a list', '[{"value":"tea"}]'],
    ['no rules', '{}'],
    ['rules that are not a list', '{"rules":{"value":"tea"}}'],
    ['a rule that is text', '{"rules":["tea"]}'],
    ['a rule without a value', '{"rules":[{"tag":"x"}]}'],
    ['a value that is a number', '{"rules":[{"value":12345678901234567890}]}'],
    ['a tag that is a number', '{"rules":[{"value":"tea","tag":7}]}'],
    ['ids', '{"rule_ids":[1]}'],
  ])('gets a 400 with the expected format for a body with %s', async (_, body) => {
    const { rules } = await localStreams();
    const reply = await rules('POST', '.json', body);
    expect(reply.status).toBe(400);
    expect(bodyOf(reply).error).toEqual({ message: FORMAT, sent: '2024-05-15T12:34:56+00:00' });
  });

  it('gets a 400 for bytes that are not UTF-8', async () => {
    const { addresses } = await localStreams();
    const body = Buffer.from('{"rules":[{"value":"caf\xe9"}]}', 'latin1');
    const url = `${addresses.rulesUrl}/rules/rulestream-replay/accounts/local/publishers/twitter/replay.json`;
    const { statusCode } = await request(url, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION },
      body,
    });
    expect(statusCode).toBe(400);
  });

  it('gets a 413 for more than 1 MB', async () => {
    const { rules } = await localStreams();
    const bodyOfBytes = (bytes: number) => {
      const body = JSON.stringify({ rules: [{ value: 'tea' }] });
      return body + ' '.repeat(bytes - body.length);
    };
    expect((await rules('POST', '.json', bodyOfBytes(1_000_000))).status).toBe(201);
    const refused = await rules('POST', '.json', bodyOfBytes(1_000_001));
    expect(refused.status).toBe(413);
    expect(bodyOf(refused).error.message).toContain('1000000');
  });

  it('adds many rules in one request, in order', async () => {
    const { rules } = await localStreams();
    const wanted = Array.from({ length: 5000 }, (_, i) => ({ value: `word${i}`, tag: `${i}` }));
    expect((await rules('POST', '.json', { rules: wanted })).status).toBe(201);
    const listed = bodyOf(await rules('GET', '.json')).rules;
    expect(listed.map(({ value, tag }) => ({ value, tag }))).toEqual(wanted);
  });

  it('keeps every character of rule values and tags', async () => {
    const { rules } = await localStreams();
    const value = '"Toys \\"R\\" Us" (\u2028 OR "🍕")';
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: codePoint, maxLength: 50 }), async tag => {
        await rules('DELETE', '.json', { rules: [{ value: 'tea' }] });
        await rules('POST', '.json', { rules: [{ value: 'tea', tag }] });
        const [rule] = bodyOf(await rules('GET', '.json')).rules;
        expect(rule?.tag).toBe(tag);
      }),
      { numRuns: bySuite(2, 80) },
    );
    const reply = await rules('POST', '/validation.json', { rules: [{ value }] });
    expect(bodyOf(reply).detail[0]?.rule.value).toBe(value);
  });
});

describe('a request to delete replay rules', () => {
  const setUp = async () => {
    const streams = await localStreams();
    const ids = await streams.addRules(
      { value: 'tea', tag: 'a' },
      { value: 'Tea' },
      { value: 'milk' },
    );
    return { ...streams, ids };
  };

  it.each([
    ['POST', '.json?_method=delete'],
    ['POST', '.json?_method=DELETE'],
    ['DELETE', '.json'],
  ])('matches rule values case-sensitively: %s %s', async (method, at) => {
    const { rules } = await setUp();
    const reply = await rules(method, at, { rules: [{ value: 'tea' }, { value: 'TEA' }] });
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toEqual({
      summary: { deleted: 1, not_deleted: 1 },
      detail: [
        { rule: { value: 'TEA', tag: null }, deleted: false, message: 'Rule does not exist' },
      ],
      sent: '2024-05-15T12:34:56.789Z',
    });
    const left = bodyOf(await rules('GET', '.json')).rules;
    expect(left.map(rule => rule.value)).toEqual(['Tea', 'milk']);
  });

  it('matches rule ids exactly', async () => {
    const { rules, ids } = await setUp();
    const near = BigInt(ids[2] as string) + 1n;
    const body = `{"rule_ids":[${ids[0]}, ${near}]}`;
    const reply = await rules('POST', '.json?_method=delete', body);
    expect(bodyOf(reply)).toMatchObject({
      summary: { deleted: 1, not_deleted: 1 },
      detail: [{ rule: { id: String(near) }, deleted: false, message: 'Rule does not exist' }],
    });
    const left = bodyOf(await rules('GET', '.json')).rules;
    expect(left.map(rule => rule.id)).toEqual([ids[1], ids[2]]);
  });

  it('never deletes rules by tag', async () => {
    const { rules } = await setUp();
    const reply = await rules('POST', '.json?_method=delete', { rules: [{ tag: 'a' }] });
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toMatchObject({
      summary: { deleted: 0, not_deleted: 1 },
      detail: [{ rule: { value: '', tag: 'a' } }],
    });
  });

  it('gets a 200 even if no rule exists', async () => {
    const { rules } = await setUp();
    for (const body of [{ rules: [{ value: 'no' }] }, { rules: [] }, { rule_ids: [] }])
      expect((await rules('POST', '.json?_method=delete', body)).status).toBe(200);
    expect(bodyOf(await rules('GET', '.json')).rules).toHaveLength(3);
  });

  it.each(['{"rules":[],"rule_ids":[]}', '{"rule_ids":[1.5]}', '{"rule_ids":["x"]}', 'tea', '{}'])(
    'gets a 400 for %s',
    async body => {
      const { rules } = await setUp();
      const reply = await rules('POST', '.json?_method=delete', body);
      expect([reply.status, bodyOf(reply).error.message]).toEqual([400, FORMAT]);
    },
  );
});

describe('a request to get replay rules', () => {
  it('returns all rules in order of creation', async () => {
    const { rules, addRules } = await localStreams();
    const ids = await addRules({ value: 'b', tag: 't' }, { value: 'c' });
    const reply = await rules('GET', '.json');
    expect(reply.text).toBe(
      `{"rules":[{"value":"b","tag":"t","id":${ids[0]}},{"value":"c","tag":null,"id":${ids[1]}}],"sent":"2024-05-15T12:34:56.789Z"}`,
    );
  });

  it('returns rules by ids that a double cannot represent, and ignores unknown ids', async () => {
    const { rules, addRules } = await localStreams();
    const ids = await addRules({ value: 'b' }, { value: 'c' }, { value: 'd' });
    const near = BigInt(ids[0] as string) - 1n;
    const body = `{"rule_ids":[${ids[2]},${near},${ids[0]},${ids[2]},5]}`;
    const reply = await rules('POST', '.json?_method=get', body);
    expect([reply.status, bodyOf(reply).rules.map(rule => rule.id)]).toEqual([
      200,
      [ids[2], ids[0]],
    ]);
  });

  it('accepts ids as strings', async () => {
    const { rules, addRules } = await localStreams();
    const ids = await addRules({ value: 'b' }, { value: 'c' });
    // Some clients can only send ids as strings.
    const asText = await rules('POST', '.json?_method=get', { rule_ids: [ids[1]] });
    expect(bodyOf(asText).rules).toEqual([{ value: 'c', tag: null, id: ids[1] }]);
  });

  it('returns one rule by its id, and a 404 for an unknown id', async () => {
    const { rules, addRules } = await localStreams();
    const [id] = await addRules({ value: 'b', tag: 't' });
    expect(bodyOf(await rules('GET', `/rules/${id}.json`)).rules).toEqual([
      { value: 'b', tag: 't', id },
    ]);
    const near = BigInt(id as string) + 1n;
    expect((await rules('GET', `/rules/${near}.json`)).status).toBe(404);
  });

  it('gets a gzip response with the same content if the client accepts it', async () => {
    const { addresses, addRules } = await localStreams();
    await addRules({ value: 'tea' });
    const url = `${addresses.rulesUrl}/rules/rulestream-replay/accounts/local/publishers/twitter/replay.json`;
    const get = (coding: string) =>
      request(url, { headers: { authorization: AUTHORIZATION, 'accept-encoding': coding } });
    const [zipped, plain] = [await get('gzip'), await get('identity')];
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(plain.headers['content-encoding']).toBeUndefined();
    const text = gunzipSync(Buffer.from(await zipped.body.arrayBuffer())).toString();
    expect(text).toBe(await plain.body.text());
  });

  it('accepts 5 MB of ids, but not more', async () => {
    const { rules, addRules } = await localStreams();
    const [id] = await addRules({ value: 'tea' });
    const bodyOfBytes = (bytes: number) => {
      const body = `{"rule_ids":[${id}]}`;
      return body + ' '.repeat(bytes - body.length);
    };
    const allowed = await rules('POST', '.json?_method=get', bodyOfBytes(5_000_000));
    expect(bodyOf(allowed).rules).toHaveLength(1);
    expect((await rules('POST', '.json?_method=get', bodyOfBytes(5_000_001))).status).toBe(413);
  });

  it.each([
    '{"rules":[{"value":"tea"}]}',
    '{"rule_ids":5}',
    '{"rule_ids":[null]}',
    '{"rule_ids":[-1]}',
  ])('gets a 400 for %s', async body => {
    const { rules } = await localStreams();
    const reply = await rules('POST', '.json?_method=get', body);
    expect([reply.status, bodyOf(reply).error.message]).toEqual([400, FORMAT]);
  });

  it('is answered at each documented path', async () => {
    const { addresses, addRules } = await localStreams();
    const [id] = await addRules({ value: 'tea' });
    const headers = { authorization: AUTHORIZATION };
    for (const product of ['rulestream-replay', 'rulestream', 'powertrack-replay', 'powertrack']) {
      const url = `${addresses.rulesUrl}/rules/${product}/accounts/local/publishers/twitter/replay.json?_method=get`;
      const body = `{"rule_ids":[${id}]}`;
      expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
    }
    const other = `${addresses.rulesUrl}/rules/firehose/accounts/local/publishers/twitter/replay.json`;
    expect((await fetch(other, { headers })).status).toBe(404);
  });
});

describe('a request to validate replay rules', () => {
  it('returns which rules are valid, valid rules first, and creates none', async () => {
    const { rules } = await localStreams();
    const reply = await rules('POST', '/validation.json', {
      rules: [{ value: 'fish AND bird' }, { value: 'fish bird', tag: 'x' }, { value: 'tea' }],
    });
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toEqual({
      summary: { valid: 2, not_valid: 1 },
      detail: [
        { rule: { value: 'fish bird', tag: 'x' }, valid: true },
        { rule: { value: 'tea', tag: null }, valid: true },
        {
          rule: { value: 'fish AND bird', tag: null },
          valid: false,
          message:
            'Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "and" to find occurrences of and in text (at position 6)\n',
        },
      ],
      sent: '2024-05-15T12:34:56.789Z',
    });
    expect(bodyOf(await rules('GET', '.json')).rules).toEqual([]);
  });

  it('gets a 400 for a body of another shape', async () => {
    const { rules } = await localStreams();
    expect((await rules('POST', '/validation.json', '{"rule":"tea"}')).status).toBe(400);
  });
});

describe('a request for replay rules', () => {
  it('gets a 401 without credentials, for every operation', async () => {
    const { addresses } = await localStreams();
    for (const at of ['replay.json', 'replay/validation.json', 'replay/rules/5.json', 'no.json']) {
      const url = `${addresses.rulesUrl}/rules/rulestream-replay/accounts/local/publishers/twitter/${at}`;
      const method = at.includes('validation') ? 'POST' : 'GET';
      expect((await fetch(url, { method })).status).toBe(401);
    }
  });

  it('gets a 400 for an unknown _method, and a 405 for an unknown method', async () => {
    const { rules } = await localStreams();
    const body = { rules: [], rule_ids: [] };
    expect((await rules('POST', '.json?_method=put', body)).status).toBe(400);
    const put = await rules('PUT', '.json', { rules: [] });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
  });

  it('gets a 406 with the number of connected replays if it would add or delete rules', async () => {
    const { rules, addRules, open, replayPath } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 20,
    });
    await addRules({ value: 'tea' });
    const firehose = await open(replayPath('firehose'));
    const change = () => [
      rules('POST', '.json', { rules: [{ value: 'milk' }] }),
      rules('POST', '.json?_method=delete', { rules: [{ value: 'milk' }] }),
      rules('DELETE', '.json', { rules: [{ value: 'milk' }] }),
    ];
    const statuses = async () => (await Promise.all(change())).map(({ status }) => status);
    // Only a stream that uses rules counts towards the limit.
    expect(await statuses()).toEqual([201, 200, 200]);
    const first = await open(replayPath('rulestream'));
    expect(await statuses()).toEqual([406, 406, 406]);
    const second = await open(replayPath('powertrack'));
    const [refused] = await Promise.all(change());
    expect(bodyOf(refused as Reply).error.message).toBe(
      'Rules cannot be added or deleted while a replay is connected to this stream. There are 2 active connections.',
    );
    expect((await rules('GET', '.json')).status).toBe(200);
    expect((await rules('POST', '/validation.json', { rules: [] })).status).toBe(200);
    second.destroy();
    await second.end();
    for (;;) {
      const { text } = await rules('POST', '.json', { rules: [] });
      if (text.includes('There is 1 active connection.')) break;
    }
    first.destroy();
    firehose.destroy();
    while ((await rules('POST', '.json', { rules: [] })).status === 406);
    expect(await statuses()).toEqual([201, 200, 200]);
  });

  it('gets a 406 if a replay that uses the rules connects before its body has arrived', async () => {
    const { addRules, open, replayPath, addresses, service } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 20,
    });
    await addRules({ value: 'tea' });
    const url = `${addresses.rulesUrl}/rules/rulestream-replay/accounts/local/publishers/twitter/replay.json`;
    const body = new PassThrough();
    const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' };
    const reply = request(url, { method: 'POST', headers, body });
    body.write('{"rules":[');
    while (service.requests({ endpoint: 'rules' }).length < 2) await sleep(5);
    const replay = await open(replayPath('rulestream'));
    body.end('{"value":"milk"}]}');
    const answer = await reply;
    expect(answer.statusCode).toBe(406);
    await answer.body.dump();
    replay.destroy();
  });

  it('is accepted as soon as the connected replay has ended', async () => {
    const { addRules, see, replayPath } = await localStreams(hourOfPosts());
    await addRules({ value: 'tea' });
    for (let i = 0; i < 10; i++) {
      await see(replayPath('rulestream'));
      await addRules({ value: `tea ${i}` });
    }
  });

  it('gets a 429 after 5 changes or lists in 5 s', async () => {
    const { rules, service } = await localStreams([], { limits: 'strict' });
    await rules('GET', '.json');
    service.clock.advance(SECOND);
    await rules('POST', '.json', { rules: [] });
    await rules('POST', '.json?_method=delete', { rules: [] });
    await rules('POST', '.json', 'no JSON counts as well');
    await rules('DELETE', '.json', { rules: [] });
    const refused = await rules('GET', '.json');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '4']);
    expect(bodyOf(refused).error.message).toBe(
      'Your app has exceeded the limit on requests to add, delete, or list rules for this stream.',
    );
    // Other requests do not count towards the limit.
    expect((await rules('POST', '.json?_method=get', { rule_ids: [] })).status).toBe(200);
    expect((await rules('POST', '/validation.json', { rules: [] })).status).toBe(200);
    service.clock.advance(4 * SECOND);
    expect((await rules('GET', '.json')).status).toBe(200);
  });

  it('gets a 429 after 60 requests in a minute, with the message of that limit', async () => {
    const { rules, service } = await localStreams([], { limits: 'strict' });
    const get = () => rules('POST', '.json?_method=get', { rule_ids: [] });
    for (let i = 0; i < 59; i++) expect((await get()).status).toBe(200);
    expect((await rules('GET', '.json')).status).toBe(200);
    const refused = await get();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    for (const reply of [refused, await rules('GET', '.json')]) {
      expect(reply.status).toBe(429);
      expect(bodyOf(reply).error.message).toBe(
        'Your app has exceeded the limit on all requests for rules of this stream.',
      );
    }
    service.clock.advance(MINUTE);
    expect((await get()).status).toBe(200);
  });
});
