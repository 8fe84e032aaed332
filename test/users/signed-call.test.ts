import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import type OAuth from 'oauth-1.0a';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/base/secret.js';
import { signatureOf } from '../../src/service/users/signed-requests.js';
import { authorization, Signer } from '../../src/users/signed-call.js';
import { bySuite } from '../suite.js';

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly form?: string;
  readonly key: string;
  readonly secret: string;
  readonly tokenSecret?: string;
  readonly oauth: Readonly<Record<string, string>>;
  readonly signature: string;
}

const STATUS = {
  method: 'post',
  form: 'status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21',
  key: 'xvz1evFS4wEEPTGEFPHBog',
  secret: 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw',
  tokenSecret: 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
  oauth: {
    oauth_nonce: 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg',
    oauth_timestamp: '1318622958',
    oauth_token: '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb',
    oauth_version: '1.0',
  },
};
const PHOTOS = { key: 'dpf43f3p2l4k3l03', secret: 'kd94hf93k423kf44' };
const EXAMPLE = {
  method: 'POST',
  form: 'c2&a3=2+q',
  key: '9djdj82h48djs9d2',
  secret: 'j49sk3j29djd',
  tokenSecret: 'dh893hdasih9',
  oauth: {
    oauth_token: 'kkk9d7dh3k39sjv7',
    oauth_timestamp: '137131201',
    oauth_nonce: '7d8f3e4a',
  },
  signature: 'r6/TJjbCOr97/+UU0NsvSne7s5g=',
};

/** Published examples. Their signatures were recomputed with HMAC-SHA1. */
const VECTORS: readonly Vector[] = [
  {
    ...STATUS,
    name: 'an update of a status, version 1',
    url: 'https://api.twitter.com/1/statuses/update.json?include_entities=true',
    signature: 'tnnArxj06cWHq44gCs1OSKk/jLY=',
  },
  {
    ...STATUS,
    name: 'the same, version 1.1',
    url: 'https://api.twitter.com/1.1/statuses/update.json?include_entities=true',
    signature: 'hCtSmYh+iHYCEqBWrE7C7hYmtUk=',
  },
  {
    ...STATUS,
    name: 'the same, on the newer host, in upper case and with its default port',
    url: 'HTTPS://API.X.com:443/1.1/statuses/update.json?include_entities=true',
    signature: 'Ls93hJiZbQ3akF3HF3x1Bz8/zU4=',
  },
  {
    ...PHOTOS,
    name: 'RFC 5849 section 1.2, temporary credentials, no token',
    method: 'POST',
    url: 'https://photos.example.net/initiate',
    oauth: {
      oauth_timestamp: '137131200',
      oauth_nonce: 'wIjqoS',
      oauth_callback: 'http://printer.example.com/ready',
    },
    signature: '74KNZJeDHnMBp0EMJ9ZHt/XKycU=',
  },
  {
    ...PHOTOS,
    name: 'RFC 5849 section 1.2, token credentials',
    method: 'POST',
    url: 'https://photos.example.net/token',
    tokenSecret: 'hdhd0244k9j7ao03',
    oauth: {
      oauth_token: 'hh5s93j4hdidpola',
      oauth_timestamp: '137131201',
      oauth_nonce: 'walatlh',
      oauth_verifier: 'hfdp7dh39dks9884',
    },
    signature: 'gKgrFCywp7rO0OXSjdot/IHF7IU=',
  },
  {
    ...PHOTOS,
    name: 'RFC 5849 section 1.2, the photo',
    method: 'GET',
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    tokenSecret: 'pfkkdhi9sl3r4s00',
    oauth: {
      oauth_token: 'nnch734d00sl2jdk',
      oauth_timestamp: '137131202',
      oauth_nonce: 'chapoH',
    },
    signature: 'MdpQcU8iPSUjWoN/UDMsK2sui9I=',
  },
  {
    ...EXAMPLE,
    name: 'RFC 5849 section 3.4.1.1',
    url: 'http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
  },
  {
    ...EXAMPLE,
    name: 'RFC 5849 section 3.4.1.1, with an upper-case host, the default port, and a plus for a space',
    url: 'http://EXAMPLE.com:80/request?b5=%3D%253D&a3=a&c%40=&a2=r+b',
  },
  {
    ...PHOTOS,
    name: 'OAuth Core A.5',
    method: 'GET',
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    tokenSecret: 'pfkkdhi9sl3r4s00',
    oauth: {
      oauth_token: 'nnch734d00sl2jdk',
      oauth_timestamp: '1191242096',
      oauth_nonce: 'kllo9940pd9333jh',
      oauth_version: '1.0',
    },
    signature: 'tR3+Ty81lMeYAr/Fid0kMTYa/WM=',
  },
];

/**
 * Converts the parameters to the type that the other library requires. The type has more members
 * than RFC 5849 requires.
 */
function parametersOf({ key, oauth }: Pick<Vector, 'key' | 'oauth'>): OAuth.Data {
  const parameters: unknown = {
    oauth_consumer_key: key,
    oauth_signature_method: 'HMAC-SHA1',
    ...oauth,
  };
  return parameters as OAuth.Data;
}

describe('the OAuth signature of a call', () => {
  it.each(VECTORS.map(one => [one.name, one] as const))(
    'equals the published example: %s',
    (_, vector) => {
      const signer = new Signer({ key: vector.key, secret: vector.secret }, () => 0);
      const data = new URLSearchParams(vector.form);
      const request = { method: vector.method, url: vector.url, data };
      expect(signer.getSignature(request, vector.tokenSecret, parametersOf(vector))).toBe(
        vector.signature,
      );
    },
  );

  it('is computed over the base string of RFC 5849 section 3.4.1.1', () => {
    const signer = new Signer({ key: EXAMPLE.key, secret: EXAMPLE.secret }, () => 0);
    const url = 'http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b';
    const request = { method: 'post', url, data: new URLSearchParams(EXAMPLE.form) };
    expect(signer.getBaseString(request, parametersOf(EXAMPLE))).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  it.each([
    ['Ladies + Gentlemen', 'Ladies%20%2B%20Gentlemen'],
    ['An encoded string!', 'An%20encoded%20string%21'],
    ['Dogs, Cats & Mice', 'Dogs%2C%20Cats%20%26%20Mice'],
    ["!*'()-._~", '%21%2A%27%28%29-._~'],
    ['☃', '%E2%98%83'],
  ])('percent-encodes %s according to RFC 3986', (text, encoded) => {
    expect(new Signer({ key: '', secret: '' }, () => 0).percentEncode(text)).toBe(encoded);
  });
});

const HOSTS = ['Example.COM', 'localhost', '127.0.0.1', 'a.b-c.test', '[::1]'];
const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const awkward = fc.constantFrom(
  'a',
  'A',
  '+',
  '%41',
  '=',
  '&',
  '__proto__',
  '10',
  '9',
  'ü',
  ' ',
  '',
);
const pairs = fc.array(fc.tuple(fc.oneof(awkward, text), fc.oneof(awkward, text)), {
  maxLength: 6,
});
const secretText = fc.string({ minLength: 1, maxLength: 12 });

function formOf(parameters: readonly (readonly [string, string])[]): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of parameters) form.append(name, value);
  return form;
}

/** Builds the base string of RFC 5849 section 3.4.1 from its parts, without parsing a URL. */
function referenceBaseString(
  method: string,
  address: string,
  parameters: readonly (readonly [string, string])[],
): string {
  const encode = (value: string) =>
    [...Buffer.from(value)]
      .map(byte =>
        /[\w.~-]/.test(String.fromCharCode(byte)) && byte < 128
          ? String.fromCharCode(byte)
          : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
      )
      .join('');
  const encoded = parameters.map(([name, value]) => [encode(name), encode(value)] as const);
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const sorted = encoded.toSorted(([a, x], [b, y]) => byBytes(a, b) || byBytes(x, y));
  const normalized = sorted.map(pair => pair.join('=')).join('&');
  return [method, encode(address), encode(normalized)].join('&');
}

function headerOf(header: string): Map<string, string> {
  expect(header).toMatch(/^OAuth (\w+="[^"]*"(, |$))+$/);
  return new Map(
    [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [
      decodeURIComponent(name),
      decodeURIComponent(value),
    ]),
  );
}

describe('the Authorization header of a call', () => {
  it('is signed according to RFC 5849, for any request', () => {
    fc.assert(
      fc.property(
        fc.record({
          method: fc.constantFrom('GET', 'POST', 'PUT'),
          scheme: fc.constantFrom('http', 'https'),
          host: fc.constantFrom(...HOSTS),
          port: fc.constantFrom('', ':80', ':443', ':8080'),
          path: fc.constantFrom('/', '/a/b', '/%41b', '/r%20v/X'),
          query: pairs,
          form: pairs,
          consumerKey: secretText,
          consumerSecret: secretText,
          token: fc.option(secretText, { nil: undefined }),
          tokenSecret: fc.option(secretText, { nil: undefined }),
        }),
        ({ method, scheme, host, port, path, query, form, ...keys }) => {
          const url = new URL(`${scheme}://${host}${port}${path}`);
          const escaped = query.map(pair => pair.map(encodeURIComponent).join('='));
          url.search = escaped.join('&').replaceAll('%20', '+');
          const header = headerOf(
            authorization(
              { method, url, form: formOf(form) },
              {
                consumerKey: keys.consumerKey,
                consumerSecret: new Secret(keys.consumerSecret),
                token: keys.token,
                tokenSecret:
                  keys.tokenSecret === undefined ? undefined : new Secret(keys.tokenSecret),
              },
              { now: () => 1_318_622_958_999 },
            ),
          );
          const { oauth_signature = '', ...signed } = Object.fromEntries(header);
          expect(signed).toEqual({
            oauth_consumer_key: keys.consumerKey,
            oauth_nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
            oauth_signature_method: 'HMAC-SHA1',
            oauth_timestamp: '1318622958',
            oauth_version: '1.0',
            ...(keys.token === undefined ? {} : { oauth_token: keys.token }),
          });
          const isDefault = port === (scheme === 'http' ? ':80' : ':443');
          const address = `${scheme}://${host.toLowerCase()}${isDefault ? '' : port}${path}`;
          const base = referenceBaseString(method, address, [
            ...Object.entries(signed),
            ...query,
            ...form,
          ]);
          const key = [keys.consumerSecret, keys.tokenSecret ?? '']
            .map(secret => new Signer({ key: '', secret: '' }, () => 0).percentEncode(secret))
            .join('&');
          expect(oauth_signature).toBe(createHmac('sha1', key).update(base).digest('base64'));
        },
      ),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('has a new nonce each time', () => {
    const sign = () =>
      authorization(
        { method: 'POST', url: new URL('https://data.test/') },
        { consumerKey: 'k', consumerSecret: new Secret('s') },
        { now: () => 0 },
      );
    const headers = Array.from({ length: 1000 }, () => headerOf(sign()));
    expect(new Set(headers.map(header => header.get('oauth_nonce'))).size).toBe(1000);
    expect(new Set(headers.map(header => header.get('oauth_signature'))).size).toBe(1000);
  });
});

describe('the client and the local service', () => {
  it('compute the same OAuth signature', () => {
    const address = fc.tuple(
      fc.constantFrom('http', 'HTTPS'),
      fc.constantFrom('Example.COM', '127.0.0.1:8080', 'a.test:443', 'a.test:80', '[::1]:9'),
      fc.constantFrom('', '/', '/a%2Fb', '/r%20v/X'),
      fc.constantFrom('', '?', '?a=1&a=0', '?%61=+&b', '?=&=', '?a=%C3%BC&a=%2B&A=b%20c'),
    );
    fc.assert(
      fc.property(address, pairs, secretText, secretText, (parts, form, secret, tokenSecret) => {
        const [scheme, host, path, query] = parts;
        const url = `${scheme}://${host}${path}${query}`;
        const header = headerOf(
          authorization(
            { method: 'POST', url: new URL(url), form: formOf(form) },
            {
              consumerKey: 'key',
              consumerSecret: new Secret(secret),
              token: 'token',
              tokenSecret: new Secret(tokenSecret),
            },
            { now: () => 1_318_622_958_999 },
          ),
        );
        const signed = { method: 'POST', url, parameters: [...header, ...form] };
        expect(signatureOf(signed, secret, tokenSecret)).toBe(header.get('oauth_signature'));
      }),
    );
  });
});
