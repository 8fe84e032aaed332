import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { SECOND } from '../../../src/base/time.js';
import { AUTHORIZATION } from '../local-service.js';
import { COMPLIANCE_PATH, localStreams } from '../replay/local-streams.js';
import { deletion } from './deleted-posts.js';

describe('the compliance stream of the local service', () => {
  it('sends each injected event immediately, byte for byte', async () => {
    const { open, service } = await localStreams();
    const connection = await open(COMPLIANCE_PATH);
    expect(connection.headers).toMatchObject({
      'content-encoding': 'gzip',
      'transfer-encoding': 'chunked',
      connection: 'close',
    });
    const first = deletion('1790000000000000001');
    service.compliance.inject(first);
    expect(await connection.until(text => text.includes('\n'))).toBe(`${first}\r\n`);
    const second = { unknown: { id: 5 } };
    service.compliance.inject(second);
    const text = await connection.until(text => text.includes('unknown'));
    expect(text).toBe(`${first}\r\n{"unknown":{"id":5}}\r\n`);
  });

  it('is also available at the path that older clients use', async () => {
    const { open, service } = await localStreams();
    const path = '/stream/compliance/accounts/local/publishers/twitter/compliance.json?partition=1';
    expect((await open(path)).status).toBe(200);
    expect(service.addresses().complianceLabel).toBe('compliance');
  });

  it('sends heartbeats while there are no events', async () => {
    const { open } = await localStreams([], { heartbeatMs: 20 });
    const connection = await open(COMPLIANCE_PATH);
    expect(await connection.until(text => text.length >= 6)).toMatch(/^(\r\n)+$/);
  });

  it('divides users among 8 partitions, or sends all events if no partition is requested', async () => {
    const { open, service } = await localStreams();
    const all = await open(COMPLIANCE_PATH);
    const parts: Awaited<ReturnType<typeof open>>[] = [];
    for (let i = 1; i <= 8; i++) parts.push(await open(`${COMPLIANCE_PATH}?partition=${i}`));
    const events = Array.from(
      { length: 200 },
      (_, i) => `{"user_delete":{"id":${9_007_199_254_740_993n + BigInt(i)},"timestamp_ms":"1"}}`,
    );
    for (const event of events) service.compliance.inject(event);
    const whole = await all.until(text => text.split('\r\n').length > 200);
    const texts = [];
    for (const part of parts) texts.push(await part.until(text => text.length > 0));
    const splitNow = () => parts.map(part => part.text().split('\r\n').slice(0, -1));
    await expect.poll(() => splitNow().flat().length).toBe(events.length);
    const split = splitNow();
    expect(whole.split('\r\n').slice(0, -1)).toEqual(events);
    expect(split.flat().toSorted()).toEqual(events.toSorted());
    for (const part of split) expect(part.length).toBeGreaterThan(8);
  });

  it('sends all events of a user to the same partition, whatever their kind', async () => {
    const { open, service } = await localStreams();
    const kinds = [
      '{"delete":{"status":{"id":1,"id_str":"1","user_id":77,"user_id_str":"77"},"timestamp_ms":"1"}}',
      '{"status_withheld":{"id":2,"user_id":77,"withheld_in_countries":["xy"],"timestamp_ms":"1"}}',
      '{"user_withheld":{"user":{"id":77,"id_str":"77"},"withheld_in_countries":["XY"],"timestampMs":"x"}}',
      '{"user_withheld":{"id":77,"timestamp_ms":"1","withheld_in_countries":["TR"]}}',
      '{"scrub_geo":{"user_id":77,"up_to_status_id":5,"up_to_status_id_str":"5","user_id_str":"77","timestamp_ms":"1"}}',
      '{"user_suspend":{"id":77,"timestamp_ms":"1"}}',
    ];
    const parts = [];
    for (let i = 1; i <= 8; i++) parts.push(await open(`${COMPLIANCE_PATH}?partition=${i}`));
    for (const event of kinds) service.compliance.inject(event);
    await Promise.race(parts.map(part => part.until(text => text.includes('user_suspend'))));
    const texts = parts.map(part => part.text()).filter(text => text !== '');
    expect(texts).toEqual([kinds.map(event => `${event}\r\n`).join('')]);
  });

  it.each(['0', '9', 'x', '', '1.5'])('responds with 406 for the partition %j', async partition => {
    const { see } = await localStreams();
    const { status, text } = await see(`${COMPLIANCE_PATH}?partition=${partition}`);
    expect([status, JSON.parse(text).error.message]).toEqual([
      406,
      "Invalid value for query parameter 'partition'. It must be 1 to 8.",
    ]);
  });

  it('responds with 401 for wrong credentials', async () => {
    const { see } = await localStreams();
    expect((await see(COMPLIANCE_PATH, { authorization: 'Basic eDp5' })).status).toBe(401);
  });

  it('responds with 404 for another account, publisher or label', async () => {
    const { see } = await localStreams();
    for (const wrong of ['accounts/x', 'publishers/x'])
      expect((await see(COMPLIANCE_PATH.replace(/(accounts|publishers)\/\w+/, wrong))).status).toBe(
        404,
      );
    expect((await see(COMPLIANCE_PATH.replace('compliance.json', 'x.json'))).status).toBe(404);
  });

  it('responds with 406 if the client does not accept gzip', async () => {
    const { addresses } = await localStreams();
    const { statusCode } = await request(addresses.complianceStreamUrl + COMPLIANCE_PATH, {
      headers: { authorization: AUTHORIZATION },
    });
    expect(statusCode).toBe(406);
  });

  it('responds with 503 if the fault `status` is planted', async () => {
    const { see, service } = await localStreams();
    service.faults.plant({ kind: 'status', endpoint: 'compliance', status: 503 });
    expect((await see(COMPLIANCE_PATH)).status).toBe(503);
  });

  it('responds with 429 after 10 connection requests in 60 s', async () => {
    const { open, see, service } = await localStreams([], { limits: 'strict' });
    for (let i = 0; i < 10; i++) (await open(COMPLIANCE_PATH)).destroy();
    service.clock.advance(20 * SECOND);
    const { status, headers, text } = await see(COMPLIANCE_PATH);
    expect([status, headers['retry-after']]).toEqual([429, '40']);
    expect(JSON.parse(text).error.message).toBe(
      'Your app has exceeded the limit on connection requests.',
    );
    service.clock.advance(40 * SECOND);
    expect((await open(COMPLIANCE_PATH)).status).toBe(200);
  });

  it('ends after two messages if the fault `content-cut` is planted', async () => {
    const { open, service } = await localStreams();
    service.faults.plant({ kind: 'content-cut', endpoint: 'compliance', afterMessages: 2 });
    const connection = await open(COMPLIANCE_PATH);
    for (let i = 1; i <= 3; i++) service.compliance.inject(deletion(`179000000000000000${i}`));
    const { messages, complete } = await connection.end();
    expect([messages.length, complete]).toEqual([2, false]);
  });
});
