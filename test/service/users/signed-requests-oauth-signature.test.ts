import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import OAuth from 'oauth-1.0a';
import { describe, expect, it } from 'vitest';
import {
  type Parameter,
  parseAuthorization,
  parseForm,
  percentEncode,
  signatureBaseString,
  signatureOf,
} from '../../../src/service/users/signed-requests.js';
import { codePoint } from '../../code-point.js';

interface Vector {
  readonly name: string;
  readonly method?: string;
  readonly url: string;
  readonly key: string;
  readonly secret: string;
  readonly token?: string;
  readonly tokenSecret?: string;
  readonly timestamp: number;
  readonly nonce: string;
  readonly more?: readonly Parameter[];
  readonly form?: string;
  readonly signature: string;
}

const TWITTER = {
  key: 'xvz1evFS4wEEPTGEFPHBog',
  secret: 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw',
  token: '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb',
  tokenSecret: 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
  timestamp: 1318622958,
  nonce: 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg',
  more: [['oauth_version', '1.0']],
  form: 'status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21',
} as const;
const PRINTER = { key: 'dpf43f3p2l4k3l03', secret: 'kd94hf93k423kf44' } as const;
const PHOTOS = { token: 'nnch734d00sl2jdk', tokenSecret: 'pfkkdhi9sl3r4s00' } as const;
const BASE_STRING = {
  url: 'http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
  form: 'c2&a3=2+q',
} as const;

const VECTORS: readonly Vector[] = [
  ...(
    [
      ['https://api.twitter.com/1/', 'tnnArxj06cWHq44gCs1OSKk/jLY='],
      ['https://api.twitter.com/1.1/', 'hCtSmYh+iHYCEqBWrE7C7hYmtUk='],
      ['https://api.x.com/1.1/', 'Ls93hJiZbQ3akF3HF3x1Bz8/zU4='],
    ] as const
  ).map(([base, signature]) => ({
    ...TWITTER,
    name: base,
    url: `${base}statuses/update.json?include_entities=true`,
    signature,
  })),
  {
    ...PRINTER,
    name: 'RFC 5849 1.2, temporary credentials',
    url: 'https://photos.example.net/initiate',
    timestamp: 137131200,
    nonce: 'wIjqoS',
    more: [['oauth_callback', 'http://printer.example.com/ready']],
    signature: '74KNZJeDHnMBp0EMJ9ZHt/XKycU=',
  },
  {
    ...PRINTER,
    name: 'RFC 5849 1.2, token credentials',
    url: 'https://photos.example.net/token',
    token: 'hh5s93j4hdidpola',
    tokenSecret: 'hdhd0244k9j7ao03',
    timestamp: 137131201,
    nonce: 'walatlh',
    more: [['oauth_verifier', 'hfdp7dh39dks9884']],
    signature: 'gKgrFCywp7rO0OXSjdot/IHF7IU=',
  },
  {
    ...PRINTER,
    ...PHOTOS,
    name: 'RFC 5849 1.2, a photo',
    method: 'GET',
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    timestamp: 137131202,
    nonce: 'chapoH',
    signature: 'MdpQcU8iPSUjWoN/UDMsK2sui9I=',
  },
  {
    ...BASE_STRING,
    name: 'RFC 5849 3.4.1.1',
    key: '9djdj82h48djs9d2',
    secret: 'j49sk3j29djd',
    token: 'kkk9d7dh3k39sjv7',
    tokenSecret: 'dh893hdasih9',
    timestamp: 137131201,
    nonce: '7d8f3e4a',
    signature: 'r6/TJjbCOr97/+UU0NsvSne7s5g=',
  },
  {
    ...PRINTER,
    ...PHOTOS,
    name: 'OAuth Core A.5',
    method: 'GET',
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    timestamp: 1191242096,
    nonce: 'kllo9940pd9333jh',
    more: [['oauth_version', '1.0']],
    signature: 'tR3+Ty81lMeYAr/Fid0kMTYa/WM=',
  },
];

function signedOf({ method = 'POST', url, key, token, timestamp, nonce, more, form }: Vector) {
  const parameters: Parameter[] = [
    ['oauth_consumer_key', key],
    ['oauth_nonce', nonce],
    ['oauth_signature_method', 'HMAC-SHA1'],
    ['oauth_timestamp', String(timestamp)],
    ...(token === undefined ? [] : [['oauth_token', token] as const]),
    ...(more ?? []),
    ...parseForm(form ?? ''),
  ];
  return { method, url, parameters };
}

describe('an OAuth signature', () => {
  it.each(VECTORS)('equals the published example: $name', vector => {
    const { secret, tokenSecret, signature } = vector;
    expect(signatureOf(signedOf(vector), secret, tokenSecret)).toBe(signature);
  });

  it('is computed from the published base string', () => {
    const vector = VECTORS.find(({ name }) => name === 'RFC 5849 3.4.1.1') as Vector;
    expect(signatureBaseString(signedOf(vector))).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  it.each([
    ['HTTP://EXAMPLE.com:80/a', 'http://example.com/a'],
    ['https://example.com:443/a', 'https://example.com/a'],
    ['http://example.com:443/a', 'http://example.com:443/a'],
    ['https://example.com:80/a', 'https://example.com:80/a'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/'],
    ['http://[::1]:80/A/B%20c', 'http://[::1]/A/B%20c'],
    ['http://example.com/a#part', 'http://example.com/a'],
  ])('covers the URL %s in the normalized form %s', (url, base) => {
    const signed = { method: 'get', url, parameters: [] };
    expect(signatureBaseString(signed)).toBe(`GET&${percentEncode(base)}&`);
  });

  it('does not cover oauth_signature, wherever that parameter is', () => {
    const url = 'http://example.com/?oauth_signature=a&b=c';
    const parameters: Parameter[] = [['oauth_signature', 'x']];
    expect(signatureBaseString({ method: 'GET', url, parameters })).toBe(
      'GET&http%3A%2F%2Fexample.com%2F&b%3Dc',
    );
  });

  it.each([
    ['Ladies + Gentlemen', 'Ladies%20%2B%20Gentlemen'],
    ['An encoded string!', 'An%20encoded%20string%21'],
    ['Dogs, Cats & Mice', 'Dogs%2C%20Cats%20%26%20Mice'],
    ['☃', '%E2%98%83'],
    ["-._~'()*", '-._~%27%28%29%2A'],
  ])('percent-encodes %s as %s', (text, encoded) => {
    expect(percentEncode(text)).toBe(encoded);
  });

  const text = fc.string({ unit: 'grapheme', maxLength: 12 });
  const name = fc.stringMatching(/^[a-z0-9_.~-]{1,8}$/).filter(one => one !== '__proto__');

  it('equals the signature of the library oauth-1.0a for requests that the library signs correctly', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('GET', 'POST', 'PUT'),
        // The library that the test compares with is wrong for URLs in upper case, with a default
        // port or without a path. Therefore, no such URLs are generated.
        fc.webUrl().map(url => new URL(url).origin + new URL(url).pathname),
        fc.uniqueArray(fc.tuple(name, text), { selector: ([name]) => name, maxLength: 6 }),
        fc.record({ key: text, secret: text, token: text, tokenSecret: text }),
        (method, url, fields, { key, secret, token, tokenSecret }) => {
          const oauth = new OAuth({
            consumer: { key, secret },
            signature_method: 'HMAC-SHA1',
            hash_function: (base, signingKey) =>
              createHmac('sha1', signingKey).update(base).digest('base64'),
          });
          const data = Object.fromEntries(fields);
          const authorized = oauth.authorize(
            { url, method, data },
            { key: token, secret: tokenSecret },
          );
          const { oauth_signature, ...parameters } = authorized;
          const signed = {
            method,
            url,
            parameters: Object.entries(parameters).map(
              ([name, value]): Parameter => [name, String(value)],
            ),
          };
          expect(signatureOf(signed, secret, tokenSecret)).toBe(oauth_signature);
        },
      ),
    );
  });

  it('is the same for any order and place of the parameters', () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.tuple(text, text), { maxLength: 8 })
          .chain(all =>
            fc.tuple(
              fc.constant(all),
              fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
              fc.nat(all.length),
            ),
          ),
        ([all, shuffled, cut]) => {
          const url = 'http://example.com/';
          const query = shuffled
            .slice(0, cut)
            .map(pair => pair.map(percentEncode).join('='))
            .join('&');
          const split = {
            method: 'POST',
            url: `${url}?${query}`,
            parameters: shuffled.slice(cut),
          };
          expect(signatureBaseString(split)).toBe(
            signatureBaseString({ method: 'POST', url, parameters: all }),
          );
        },
      ),
    );
  });

  it('changes with each signed part of the request', () => {
    const [vector] = VECTORS as [Vector];
    const signed = signedOf(vector);
    const { secret, tokenSecret, signature } = vector;
    const others = [
      { ...signed, method: 'GET' },
      { ...signed, url: signed.url.replace('https', 'http') },
      { ...signed, url: `${signed.url}&more` },
      { ...signed, parameters: signed.parameters.slice(1) },
      { ...signed, parameters: [...signed.parameters, ['a', ''] as const] },
    ];
    for (const other of others) expect(signatureOf(other, secret, tokenSecret)).not.toBe(signature);
    expect(signatureOf(signed, `${secret}x`, tokenSecret)).not.toBe(signature);
    expect(signatureOf(signed, secret)).not.toBe(signature);
  });
});

describe('parseForm', () => {
  it('returns the names and values that were encoded, even repeated names', () => {
    const text = fc.string({ unit: codePoint, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), pairs => {
        const wellFormed = pairs.map(pair => pair.map(one => Buffer.from(one).toString()));
        const form = String(new URLSearchParams(wellFormed as [string, string][]));
        expect(parseForm(form)).toEqual(wellFormed);
      }),
    );
  });

  it.each(['%', '%2', '%zz=1', 'a=%FF', '%C3%28'])('rejects invalid encoding: %s', form => {
    expect(() => parseForm(form)).toThrow(URIError);
  });
});

describe('an Authorization header of the scheme OAuth', () => {
  it('is parsed into its parameters without the realm, in any letter case of the scheme', () => {
    const header = 'oAUTH realm="a, \\b",\t oauth_nonce="x%2By" ,oauth_token=""';
    expect(parseAuthorization(header)).toEqual([
      ['oauth_nonce', 'x+y'],
      ['oauth_token', ''],
    ]);
  });

  it('is parsed back into the parameters from which it was formatted', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1 }), pairs => {
        fc.pre(pairs.every(([name]) => name.toLowerCase() !== 'realm'));
        const list = pairs.map(
          ([name, value]) => `${percentEncode(name)}="${percentEncode(value)}"`,
        );
        expect(parseAuthorization(`OAuth ${list.join(', ')}`)).toEqual(pairs);
      }),
    );
  });

  it.each([undefined, '', 'Basic YTpi', 'Bearer x', 'OAuthx a="b"'])(
    'is not parsed if the scheme is another: %s',
    header => {
      expect(parseAuthorization(header)).toBe(undefined);
    },
  );

  it.each([
    'OAuth oauth_nonce',
    'OAuth oauth_nonce=x',
    'OAuth oauth_nonce="x',
    'OAuth oauth_nonce="x" oauth_token="y"',
    'OAuth oauth_nonce="%"',
    'OAuth oauth_nonce="%FF"',
    'OAuth ,',
  ])('causes an error if it is malformed: %s', header => {
    expect(parseAuthorization(header)).toBe('malformed');
  });

  it('is parsed in linear time for any content', () => {
    const began = process.cpuUsage();
    for (const piece of [' ', 'a', '"', '=', ',', 'a="b" ', 'a="b",  '])
      parseAuthorization(`OAuth ${piece.repeat(16_000 / piece.length)}`);
    // A parser with quadratic time would need more than a minute.
    expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
  });
});
