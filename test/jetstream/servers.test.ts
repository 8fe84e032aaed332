import { inspect } from 'node:util';
import type { NatsConnection } from '@nats-io/transport-node';
import { OptionError, Secret } from 'millrace';
import { describe, expect, it } from 'vitest';
import { checkOptions } from '../../src/base/check.js';
import {
  type Access,
  accessOf,
  type JetStreamServers,
  SERVER_OPTIONS,
} from '../../src/jetstream/servers.js';
import { unchecked } from '../unchecked.js';

function access(options: JetStreamServers, environment: Record<string, string> = {}): Access {
  const checked = checkOptions<JetStreamServers, typeof SERVER_OPTIONS>(
    'call',
    SERVER_OPTIONS,
    options,
  );
  return accessOf('call', checked, environment);
}

/** As much of a connection as options look at. */
const open = unchecked<NatsConnection>({
  getServers: () => [{ listen: 'a:1' }],
  request: () => {},
});

describe('the servers of a call', () => {
  it.each([
    [{ servers: 'nats://a:4222' }, ['a:4222']],
    [{ servers: 'a' }, ['a']],
    [{ servers: ['nats://a', 'tls://b:1'] }, ['a', 'b:1']],
    [{ servers: 'nats://[::1]:4222' }, ['[::1]:4222']],
  ])('have addresses: %j', (options, addresses) => {
    expect(access(options).addresses).toEqual(addresses);
  });

  it('come from the environment', () => {
    expect(
      access({}, { MILLRACE_NATS_URL: 'nats://a:1, b:2', MILLRACE_NATS_TOKEN: 'x' }),
    ).toMatchObject({ addresses: ['a:1', 'b:2'], token: new Secret('x') });
  });

  it('take no login from the environment where the address is an option', () => {
    const environment = { MILLRACE_NATS_URL: 'nats://a', MILLRACE_NATS_TOKEN: 'x' };
    expect(access({ servers: 'nats://b' }, environment)).toMatchObject({
      addresses: ['b'],
      token: undefined,
    });
  });

  it('take the login out of an address', () => {
    const { addresses, user, password } = access({ servers: 'nats://me:s%40cret@a:1' });
    expect({ addresses, user, password: password?.reveal() }).toEqual({
      addresses: ['a:1'],
      user: 'me',
      password: 's@cret',
    });
    expect(access({ servers: 'nats://t0ken@a:1' }).token?.reveal()).toBe('t0ken');
  });

  it('are those of a connection, whatever the environment says', () => {
    const environment = { MILLRACE_NATS_URL: 'nats://b', MILLRACE_NATS_TOKEN: 'x' };
    const found = access({ connection: open }, environment);
    expect(found).toMatchObject({ addresses: ['a:1'], connection: open });
    expect(found.token).toBeUndefined();
  });

  it('may have a domain or a prefix of their API', () => {
    expect(access({ servers: 'a' }).jetStream).toEqual({});
    expect(access({ servers: 'a', domain: 'hub' }).jetStream).toEqual({ domain: 'hub' });
    const apiPrefix = 'JS.acme.API';
    expect(access({ connection: open, apiPrefix }).jetStream).toEqual({ apiPrefix });
  });

  it('show no secret', () => {
    const shown = inspect(access({ servers: 'a', user: 'me', password: 's3cret' }));
    expect(shown).not.toContain('s3cret');
  });

  it('use TLS for tls:// and for files', () => {
    expect(access({ servers: 'tls://a' }).tls).toEqual({});
    expect(access({ servers: 'a', tls: { ca: 'ca.pem' } }).tls).toMatchObject({ ca: 'ca.pem' });
    expect(access({ servers: 'a' }).tls).toBeUndefined();
  });

  it.each([
    ['no address', {}, 'servers'],
    ['an empty list', { servers: [] }, 'servers'],
    ['another scheme', { servers: 'http://s3cret@a' }, 'servers'],
    ['a path', { servers: 'nats://a/s3cret' }, 'servers'],
    ['a password without a user', { servers: 'a', password: 's3cret' }, 'user'],
    ['a user without a password', { servers: 'a', user: 'me' }, 'password'],
    ['two logins', { servers: 'nats://s3cret@a', credentials: 'x.creds' }, 'credentials'],
    [
      'an unknown member of tls',
      { servers: 'a', tls: unchecked({ cafile: 's3cret' }) },
      'tls.cafile',
    ],
    ['an NKey and a token', { servers: 'nats://s3cret@a', nkey: `SU${'A'.repeat(56)}` }, 'nkey'],
    ['an NKey that is no seed', { servers: 'a', nkey: 's3cret' }, 'nkey'],
    ['two names of the API', { servers: 'a', domain: 'hub', apiPrefix: 'JS.hub.API' }, 'apiPrefix'],
    ['an address beside a connection', { servers: 's3cret', connection: open }, 'servers'],
    ['a login beside a connection', { token: 's3cret', connection: open }, 'token'],
    ['an empty token', { servers: 'a', token: '' }, 'token'],
  ])('are refused with %s, without showing a secret', (_, options, option) => {
    let error: unknown;
    try {
      access(options);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option });
    expect(String(error)).not.toContain('s3cret');
  });

  it('are refused in the environment without showing a secret', () => {
    expect(() => access({}, { MILLRACE_NATS_URL: 'http://me:s3cret@a' })).toThrow(
      'call: `MILLRACE_NATS_URL` must be addresses such as nats://127.0.0.1:4222',
    );
  });
});
