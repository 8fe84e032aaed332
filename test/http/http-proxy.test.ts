import fc from 'fast-check';
import { type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { proxyFor } from '../../src/http/http-proxy.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';

const HTTPS_PROXY = 'http://proxy.example:3128';

const proxyOf = (target: string, environment: Record<string, string>) =>
  proxyFor(new URL(target), environment)?.url.href;

describe('the proxy for a URL', () => {
  it('comes from the variable of its scheme, or from HTTP_PROXY for https if HTTPS_PROXY is not set', () => {
    const environment = { HTTPS_PROXY, HTTP_PROXY: 'http://plain.example:8080' };
    expect(proxyOf('https://a.example/', environment)).toBe('http://proxy.example:3128/');
    expect(proxyOf('http://a.example/', environment)).toBe('http://plain.example:8080/');
    expect(proxyOf('https://a.example/', { HTTP_PROXY: 'http://plain.example' })).toBe(
      'http://plain.example/',
    );
    expect(proxyOf('http://a.example/', { HTTPS_PROXY })).toBeUndefined();
    expect(proxyOf('https://a.example/', {})).toBeUndefined();
  });

  it('comes from the lower-case variable if both are set, but not from an empty variable', () => {
    const target = 'https://a.example/';
    const lower = { https_proxy: 'http://lower.example', HTTPS_PROXY };
    expect(proxyOf(target, lower)).toBe('http://lower.example/');
    expect(proxyOf(target, { https_proxy: ' ', HTTPS_PROXY })).toBe('http://proxy.example:3128/');
    expect(proxyOf(target, { HTTPS_PROXY, no_proxy: '', NO_PROXY: 'a.example' })).toBeUndefined();
    expect(proxyOf(target, { HTTPS_PROXY, no_proxy: 'b.example', NO_PROXY: 'a.example' })).toBe(
      'http://proxy.example:3128/',
    );
  });

  it.each(['localhost', '127.0.0.1', '127.8.9.1', '[::1]', '0177.1'])(
    'is undefined for a loopback address: %s',
    host => {
      const environment = { HTTPS_PROXY: 'not even : an address', http_proxy: HTTPS_PROXY };
      expect(proxyOf(`https://${host}:8787/`, environment)).toBeUndefined();
      expect(proxyOf(`http://${host}/`, environment)).toBeUndefined();
    },
  );

  it('may be written without a scheme, and with a login', () => {
    expect(proxyOf('https://a.example/', { HTTPS_PROXY: 'proxy.example:3128' })).toBe(
      'http://proxy.example:3128/',
    );
    const proxy = proxyFor(new URL('https://a.example'), {
      https_proxy: 'https://us%C3%A9r:p%40ss%3Aw@proxy.example',
    });
    expect(proxy).toMatchObject({ variable: 'https_proxy' });
    expect(proxy?.url.href).toBe('https://proxy.example/');
    const base64 = Buffer.from('usér:p@ss:w').toString('base64');
    expect(proxy?.authorization?.reveal()).toBe(`Basic ${base64}`);
  });

  it.each([
    ['http://', 'must be the address of a proxy'],
    ['http://u:secret@host:99999', 'must be the address of a proxy'],
    ['socks5://u:secret@host:1080', 'socks5:// proxies are not supported'],
    ['http://u:secret@host/proxy.pac', 'it has a path, query or hash'],
    ['http://u:secret@host:1?x', 'it has a path, query or hash'],
    ['http://u:secret%zz@host:1', 'write a plain % as %25'],
    ['http://u%3A:secret@host:1', 'has a user with a colon'],
  ])('causes an error that does not show its value if it is invalid: %s', (value, message) => {
    const find = () => proxyFor(new URL('https://a.example'), { https_proxy: value });
    expect(find).toThrow(OptionError);
    expect(find).toThrow(message);
    expect(find).toThrow(expect.objectContaining({ option: 'https_proxy' }));
    expect(find).not.toThrow(/secret/);
  });
});

describe('NO_PROXY', () => {
  it.each([
    ['a.example', 'https://a.example', true],
    ['A.Example', 'https://a.example', true],
    ['.example', 'https://a.b.example', true],
    ['.a.example', 'https://a.example', true],
    ['*.example', 'https://a.example', true],
    ['example', 'https://an-example', false],
    ['x,*', 'https://a.example', true],
    ['x  y,a.example', 'https://a.example', true],
    ['a.example.', 'https://a.example', true],
    ['a.example', 'https://a.example.', true],
    ['a.example:443', 'https://a.example', true],
    ['a.example:8443', 'https://a.example', false],
    ['a.example:8443', 'https://a.example:8443', true],
    ['.example:80', 'http://a.example', true],
    ['[2001:db8::1]', 'https://[2001:db8::1]', true],
    ['[2001:DB8:0::1]:8443', 'https://[2001:db8::1]:8443', true],
    ['[2001:db8::1]:8443', 'https://[2001:db8::1]', false],
    ['2001:db8::1', 'https://[2001:db8::1]', true],
    ['bücher.example', 'https://xn--bcher-kva.example', true],
    ['10.1.2.3', 'https://10.1.2.3', true],
    [':443', 'https://a.example', false],
    [',, ,', 'https://a.example', false],
  ])('set to %s decides whether %s is reached without a proxy: %s', (list, target, isDirect) => {
    const environment = { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY, NO_PROXY: list };
    expect(proxyOf(target, environment) === undefined).toBe(isDirect);
  });
});

/**
 * Returns the URL of the proxy that undici's agent would use, or `direct`. The agent passes this
 * URL to `factory`, or no URL if it uses no proxy.
 */
function undiciProxies(
  target: URL,
  options: { readonly httpProxy: string; readonly httpsProxy: string; readonly noProxy: string },
): string {
  let way = 'none';
  const agent = new EnvHttpProxyAgent({
    ...options,
    factory: (_origin, made: object) => {
      way = 'uri' in made ? new URL(made.uri as string).href : 'direct';
      const dispatcher = { on: () => dispatcher, dispatch: () => true };
      return unchecked<Dispatcher>(dispatcher);
    },
  });
  agent.dispatch({ origin: target.origin, path: '/', method: 'GET' }, {});
  return way;
}

it('proxyFor returns the same as EnvHttpProxyAgent of undici for any hosts and ports', () => {
  const label = fc.constantFrom('a', 'b', 'example', 'xa', 'b-c');
  const host = fc.oneof(
    fc.array(label, { minLength: 1, maxLength: 3 }).map(labels => labels.join('.')),
    fc.constantFrom('[2001:db8::1]', '[2001:db8::2]', '10.1.2.3', '10.1.2.4'),
  );
  const port = fc.constantFrom('', ':80', ':443', ':8443');
  const entry = fc
    .tuple(fc.constantFrom('', '', '.', '*.'), host, port)
    .map(([prefix, name, at]) => (name.startsWith('[') ? name : prefix + name) + at);
  const list = fc.oneof(
    fc.constant('*'),
    fc
      .tuple(fc.array(entry, { maxLength: 4 }), fc.constantFrom(',', ' ', ', ', ',,'))
      .map(([entries, separator]) => entries.join(separator)),
  );
  const proxy = fc.constantFrom('', 'http://one.example:3128/', 'http://two.example/');
  fc.assert(
    fc.property(
      ...([fc.constantFrom('http:', 'https:'), host, port, list, proxy, proxy] as const),
      (scheme, name, at, noProxy, httpProxy, httpsProxy) => {
        const target = new URL(`${scheme}//${name}${at}`);
        const found = proxyFor(target, {
          http_proxy: httpProxy,
          https_proxy: httpsProxy,
          no_proxy: noProxy,
        });
        expect(found?.url.href ?? 'direct').toBe(
          undiciProxies(target, { httpProxy, httpsProxy, noProxy }),
        );
      },
    ),
    { numRuns: bySuite(25, 1_200) },
  );
});
