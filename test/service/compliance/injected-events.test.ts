import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import { InjectedEvents } from '../../../src/service/compliance/injected-events.js';
import { COMPLIANCE_PATH, localStreams, START } from '../replay/local-streams.js';
import { deletion } from './deleted-posts.js';

describe('an injected compliance event', () => {
  it.each(['', 'x', '[]', '5', '{}', '{"delete":5}', '{"delete":{}}\r\n'])(
    'causes an error if it is %j',
    async event => {
      const { service } = await localStreams();
      expect(() => service.compliance.inject(event)).toThrow(
        expect.objectContaining({ option: 'event' }),
      );
    },
  );

  it('is accepted by the control API with exact ids', async () => {
    const { service, addresses, open } = await localStreams();
    const connection = await open(COMPLIANCE_PATH);
    const url = `${addresses.baseUrl}/_control/compliance`;
    const event = deletion('1790000000000000001');
    expect((await fetch(url, { method: 'POST', body: event })).status).toBe(201);
    expect(await connection.until(text => text.includes('\n'))).toBe(`${event}\r\n`);
    const refused = await fetch(url, { method: 'POST', body: '[]' });
    expect(refused.status).toBe(422);
    expect(service.compliance.hidesNothing).toBe(false);
  });

  it('may have a time, so that a replay of that time includes the event', async () => {
    const { service, see, replayPath } = await localStreams();
    service.compliance.inject(deletion('2'), START + 10 * MINUTE);
    service.compliance.inject(deletion('1'), START);
    service.compliance.inject(deletion('3'), START + HOUR);
    const { messages } = await see(replayPath('compliance'));
    expect(messages.slice(0, -1)).toEqual([deletion('1'), deletion('2')]);
    expect(messages.at(-1)).toContain('"activity_count":2');
  });

  it('hides a post according to the times of all events, not to the order in which they are injected', () => {
    const events = new InjectedEvents();
    const status = '{"status":{"id":1,"id_str":"1","user_id":7,"user_id_str":"7"}}';
    events.add(`{"undrop":${status}}`, 20);
    events.add(`{"drop":${status}}`, 10);
    const hidden = [9, 10, 19, 20].map(asOf => events.hides('post', '1', asOf));
    expect(hidden).toEqual([false, true, true, false]);
  });
});
