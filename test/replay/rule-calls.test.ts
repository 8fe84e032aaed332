import { describe, expect, it } from 'vitest';
import { HttpError, OptionError, RulesError } from '../../src/base/errors.js';
import { account } from '../../src/http/account.js';
import {
  addReplayRules,
  deleteReplayRules,
  getReplayRules,
  validateReplayRules,
} from '../../src/replay/rule-calls.js';
import { reset, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { unchecked } from '../unchecked.js';
import { acme, server, setUpRules, stream } from './scripted-rules.js';

setUpRules();

/** Response bodies that the local service never sends. */
const OTHER_BODIES = [
  ...['', ' ', 'OK', '<html></html>', 'null', '[]', '7', '{}', '{"detail":"none"}'],
  ...['{"detail":[7]}', '{"detail":[{"rule":"snow"}]}', '{"detail":[{"rule":{"value":"snow"}}]}'],
];

const sentBodies = () => server.received.map(({ body }) => body);

describe('the rules of a replay stream', () => {
  it('are added with exact ids at the URL of the stream', async () => {
    const added = await addReplayRules(acme, [{ value: 'snow', tag: 'w' }, { value: 'rain' }]);
    expect(added).toEqual([
      { value: 'snow', tag: 'w', id: '9007199254740993', created: true },
      { value: 'rain', tag: null, id: '9007199254740995', created: true },
    ]);
    expect(server.received[0]?.url).toBe(
      '/base/rules/rulestream-replay/accounts/Acme%20Co/publishers/twitter/prod.json',
    );
    expect(sentBodies()).toEqual(['{"rules":[{"value":"snow","tag":"w"},{"value":"rain"}]}']);
  });

  it('are reported as not created, with the reason, if they already exist', async () => {
    stream.hold('snow', 'old');
    const [added] = await addReplayRules(acme, [{ value: 'snow', tag: 'new' }]);
    expect(added).toMatchObject({
      created: false,
      reason: 'A rule with this value already exists',
    });
    expect(stream.rules.get('snow')?.tag).toBe('old');
  });

  it('are added even if the 201 response has no body', async () => {
    for (const body of ['', '{"sent":"x"}']) {
      server.script.push(status(201, body));
      expect(await addReplayRules(acme, [{ value: 'snow' }])).toEqual([
        { value: 'snow', tag: null, id: undefined, created: true },
      ]);
    }
  });

  it.each(OTHER_BODIES)(
    'are added only once, whatever the body of the 201 response: %j',
    async body => {
      server.script.push(status(201, body));
      expect(await addReplayRules(acme, [{ value: 'snow' }])).toMatchObject([{ created: true }]);
      expect(server.received.length).toBe(1);
    },
  );

  it.each(OTHER_BODIES)(
    'are deleted only once, whatever the body of the 200 response: %j',
    async body => {
      server.script.push(status(200, body));
      expect(await deleteReplayRules(acme, [{ value: 'snow' }, { value: 'rain' }])).toEqual([
        { value: 'snow', deleted: true },
        { value: 'rain', deleted: true },
      ]);
      expect(server.received.length).toBe(1);
    },
  );

  it('cause an error with the message of the service if a 422 does not list them', async () => {
    server.script.push(status(422, '{"error":{"message":"Too many rules"}}'));
    const error = await addReplayRules(acme, [{ value: 'snow' }]).catch(e => e);
    expect(error).toBeInstanceOf(HttpError);
    expect(error.message).toContain('422 Unprocessable Entity: Too many rules');
    expect(server.received.length).toBe(1);
  });

  it('cause an error, but are not called invalid, if the validation response does not mention them', async () => {
    server.script.push(status(200, '{"detail":[]}'));
    await expect(validateReplayRules(acme, [{ value: 'snow' }])).rejects.toThrow(
      'does not say whether the rule "snow" is valid',
    );
  });

  it('are all rejected if one rule is invalid, with the result of each rule in the error', async () => {
    const error = await addReplayRules(acme, [{ value: 'ok' }, { value: 'has:vidoes' }]).catch(
      e => e,
    );
    expect(error).toBeInstanceOf(RulesError);
    expect(error.message).toContain('"has:vidoes": Unknown value');
    expect(error.message).toContain('0 of 2 were added');
    expect(error.results).toEqual([
      { value: 'ok', tag: null, id: undefined, created: false },
      { value: 'has:vidoes', tag: null, id: undefined, created: false, reason: 'Unknown value' },
    ]);
  });

  it('are sent in requests of at most 1 MB', async () => {
    const rules = Array.from({ length: 600 }, (_, n) => ({ value: `${n} ${'é'.repeat(1000)}` }));
    const added = await addReplayRules(acme, rules);
    expect(added.map(({ value }) => value)).toEqual(rules.map(({ value }) => value));
    expect(stream.rules.size).toBe(600);
    expect(server.received.length).toBe(2);
    for (const body of sentBodies()) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_000_000);
  });

  it('cause an error before any request if one rule is larger than a request may be', async () => {
    const rules = [{ value: 'fine' }, { value: 'x'.repeat(1_000_000) }];
    await expect(addReplayRules(acme, rules)).rejects.toThrow(OptionError);
    expect(stream.rules.size).toBe(0);
  });

  const deletedOfTwo = async () => {
    stream.hold('snow');
    const id = stream.hold('rain');
    const gone = await deleteReplayRules(acme, [
      { value: 'snow' },
      { value: 'Snow' },
      { id },
      { id: '1' },
    ]);
    return { id, gone };
  };

  it('are deleted by value and by id', async () => {
    const { id } = await deletedOfTwo();
    expect(sentBodies()).toContain(`{"rule_ids":[${id},1]}`);
    expect(stream.rules.size).toBe(0);
  });

  it('are each reported as deleted or missing', async () => {
    const { id, gone } = await deletedOfTwo();
    expect(gone).toEqual([
      { value: 'snow', deleted: true },
      { value: 'Snow', deleted: false, reason: 'Rule does not exist' },
      { id, deleted: true },
      { id: '1', deleted: false, reason: 'Rule does not exist' },
    ]);
  });

  it('are deleted without an error if a call lists them twice', async () => {
    stream.hold('snow');
    const id = stream.hold('undefined');
    const gone = await deleteReplayRules(acme, [
      { value: 'snow' },
      { value: 'snow' },
      { value: 'undefined' },
      { id: '1' },
      { id },
    ]);
    expect(gone.map(({ deleted }) => deleted)).toEqual([true, true, true, false, false]);
  });

  it('cause an OptionError before anything is sent if their values have a wrong type', async () => {
    for (const rules of [[null], ['snow'], [undefined], [{}], 'snow', null, [{ value: 7 }]]) {
      await expect(addReplayRules(acme, unchecked(rules))).rejects.toThrow(OptionError);
      await expect(deleteReplayRules(acme, unchecked(rules))).rejects.toThrow(OptionError);
      await expect(validateReplayRules(acme, unchecked(rules))).rejects.toThrow(OptionError);
    }
    for (const id of ['007', '1.5', '-1', '', 7, null])
      await expect(getReplayRules(acme, unchecked([id]))).rejects.toThrow(OptionError);
    for (const options of [null, { streamlabel: 'x' }, { streamLabel: '' }, { streamLabel: '..' }])
      await expect(addReplayRules(acme, [], unchecked(options))).rejects.toThrow(OptionError);
    expect(server.received).toEqual([]);
  });

  it('are fetched by ids, which are sent as JSON integers', async () => {
    const id = stream.hold('snow', 'w');
    expect(await getReplayRules(acme, [id, '12'])).toEqual([{ value: 'snow', tag: 'w', id }]);
    expect(sentBodies()).toEqual([`{"rule_ids":[${id},12]}`]);
    await expect(getReplayRules(acme, ['12,13'])).rejects.toThrow(OptionError);
    await expect(getReplayRules(acme, [unchecked(12)])).rejects.toThrow(OptionError);
  });

  it('are validated in the given order, whatever the order of the response', async () => {
    const rules = [{ value: 'has:vidoes' }, { value: 'snow' }];
    expect(await validateReplayRules(acme, rules)).toEqual([
      { value: 'has:vidoes', valid: false, reason: 'Unknown value (at position 1)' },
      { value: 'snow', valid: true },
    ]);
    expect(server.received[0]?.url).toContain('/prod/validation.json');
    expect(stream.rules.size).toBe(0);
  });

  it('cause an error that explains a 406 if they are changed during a replay', async () => {
    stream.connections = 1;
    for (const call of [
      addReplayRules(acme, [{ value: 'snow' }]),
      deleteReplayRules(acme, [{ value: 'snow' }]),
    ]) {
      const error = await call.catch(e => e);
      expect(error).toBeInstanceOf(HttpError);
      expect(error.status).toBe(406);
      expect(error.message).toContain('There is 1 active connection.');
      expect(error.message).toContain('while a replay of the stream is connected');
    }
  });

  it('are changed at most 5 times in 5 s, with retries after a broken connection', async () => {
    server.script.push(reset, status(503));
    const timing = impatient();
    const busy = account({ ...addresses(), timing }, {});
    for (let n = 0; n < 6; n++) await addReplayRules(busy, [{ value: `rule ${n}` }]);
    expect(stream.rules.size).toBe(6);
    expect(timing.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(5_000);
  });

  it('need no request for an empty list', async () => {
    expect(await addReplayRules(acme, [])).toEqual([]);
    expect(await deleteReplayRules(acme, [])).toEqual([]);
    expect(await getReplayRules(acme, [])).toEqual([]);
    await expect(addReplayRules(acme, [{ value: '' }])).rejects.toThrow(OptionError);
    await expect(addReplayRules(acme, unchecked('snow'))).rejects.toThrow(OptionError);
    expect(server.received).toEqual([]);
  });
});

function addresses() {
  const { rulesUrl, account: name, publisher, streamLabel, email, password } = acme.settings;
  return {
    rulesUrl: String(rulesUrl),
    account: name,
    publisher,
    streamLabel,
    email,
    password,
  };
}
