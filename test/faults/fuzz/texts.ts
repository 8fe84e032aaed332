import { loadModule } from '../load-library.js';
import { check, expectSame, outcomes, type ParserKind } from './parser.js';

export const nextTokens: ParserKind = {
  holds: 'only what the service has signed is accepted',
  async open(library) {
    const { createNextTokens } = await loadModule(library, 'service/search/check-search-request');
    const tokens = createNextTokens('a seed');
    const signed = Array.from({ length: 20 }, (_, index) =>
      tokens.encode({
        asOf: index,
        window: { from: index, to: 9e12 },
        request: 'abcdefghijklmnop',
        after: { at: index, id: '9007199254740993' },
      }),
    );
    return {
      tokens: ['=', '==', 'A', '+', '/', '-', '_'],
      seed: random => Buffer.from(random.pick(signed)),
      attempt(input) {
        const text = input.toString('latin1');
        const token = tokens.decode(text);
        expectSame(token !== undefined, signed.includes(text), 'It is accepted:');
        if (token !== undefined) expectSame(tokens.encode(token), text, 'Encoded again, it is');
        return token !== undefined;
      },
    };
  },
};

export const authorization: ParserKind = {
  holds:
    'parameters that give the same header content again, or a refusal; Basic accepts the right login only',
  async open(library) {
    const { parseAuthorization } = await loadModule(library, 'service/users/signed-requests');
    const { isAuthorized } = await loadModule(library, 'service/http/check-access');
    const right = { email: 'ada@example.com', password: 'geheim:ü' };
    const basic = `Basic ${Buffer.from(`${right.email}:${right.password}`).toString('base64')}`;
    const oauth =
      'OAuth realm="x", oauth_consumer_key="key", oauth_nonce="n%20n", oauth_signature="a%2Bb%3D", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1", oauth_token="t", oauth_version="1.0"';
    return {
      tokens: [
        'OAuth ',
        'Basic ',
        '="',
        '", ',
        'oauth_token="',
        'realm="',
        '%',
        '%ff',
        '%2',
        '=',
        ',',
      ],
      seed: random => Buffer.from(random.pick([oauth, oauth, basic])),
      attempt(input) {
        const header = input.toString('latin1');
        const isRight = isAuthorized(header, right);
        const [, code = ''] = /^basic +([a-z0-9+/=_-]+) *$/i.exec(header) ?? [];
        expectSame(
          isRight,
          Buffer.from(code, 'base64').toString() === `${right.email}:${right.password}`,
          'As Basic, it is accepted:',
        );
        const parameters = parseAuthorization(header);
        if (parameters === undefined) {
          check(!/^OAuth(\s|$)/i.test(header), 'Taken for another scheme');
          return isRight;
        }
        if (parameters === 'malformed') return false;
        const again = `OAuth ${parameters
          .map(([name, value]) => `${encodeURIComponent(name)}="${encodeURIComponent(value)}"`)
          .join(', ')}`;
        expectSame(
          parseAuthorization(parameters.length === 0 ? 'OAuth ' : again),
          parameters,
          'Printed and parsed again, it has',
        );
        return true;
      },
    };
  },
};

export const forms: ParserKind = {
  holds: 'the parameters of `URLSearchParams`, or a refusal of what is not percent-encoded UTF-8',
  async open(library) {
    const { parseForm, percentEncode } = await loadModule(library, 'service/users/signed-requests');
    const { isRegistered, withQuery } = await loadModule(library, 'service/users/applications');
    return {
      tokens: [
        '&',
        '=',
        '%26',
        '%3D',
        '+',
        '%20',
        '%',
        '%zz',
        '%C3%BC',
        '%ff',
        'http://',
        '@',
        '#',
        '127.0.0.1',
      ],
      seed: random =>
        Buffer.from(
          random.pick([
            ...[
              'query=rain&maxResults=10',
              'a=1&a=2&b=%C3%BC+x',
              'oauth_callback=http%3A%2F%2F127.0.0.1%2Fx',
            ],
            ...['http://127.0.0.1:8080/callback?a=b', 'https://example.com/back', 'oob'],
          ]),
        ),
      attempt(input) {
        const text = input.toString();
        let parameters: readonly (readonly [string, string])[] | undefined;
        try {
          parameters = parseForm(text);
        } catch (error) {
          check(error instanceof URIError, `Not a URIError: ${error}`);
        }
        if (parameters !== undefined) {
          // `URLSearchParams` removes a `?` at the start of the text, so another one is added.
          expectSame(parameters, [...new URLSearchParams(`?${text}`)], 'The parameters are');
          const encode = ([name, value]: readonly [string, string]) =>
            `${percentEncode(name)}=${percentEncode(value)}`;
          expectSame(
            parseForm(parameters.map(encode).join('&')),
            parameters,
            'Encoded and parsed again, they are',
          );
        }
        if (isRegistered(text, undefined) && text !== 'oob') {
          const { protocol, hostname, username, hash } = new URL(withQuery(text, { x: '1&2' }));
          check(/^https?:$/.test(protocol), `A callback of ${protocol}`);
          check(/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname), `A callback to ${hostname}`);
          check(username === '' && hash === '', 'A callback with a login or a fragment');
        }
        return parameters !== undefined;
      },
    };
  },
};

export const names: ParserKind = {
  holds: 'one segment of a path for any text, other ones for other texts',
  async open(library) {
    const { safeName } = await loadModule(library, 'sinks/write/safe-name');
    const seen = new Map<string, string>();
    return {
      tokens: [
        '/',
        '\\',
        '..',
        '.',
        ':',
        'CON',
        'nul.',
        ' ',
        '~',
        '*',
        '?',
        '|',
        '<',
        '\u0000',
        '%2f',
        '.part',
      ],
      maxBytes: 2_000,
      seed: random =>
        Buffer.from(
          random.pick([
            'rain',
            'Rain',
            'a/b',
            '../../etc/passwd',
            'Köln',
            'ſtraße',
            'x'.repeat(250),
            '',
          ]),
        ),
      attempt(input) {
        const text = input.toString();
        const name = safeName(text);
        check(name !== '' && !/^\.{1,2}$/.test(name), `Not a name: ${JSON.stringify(name)}`);
        check(!/[/\\\p{Cc}:*?"<>|]/u.test(name), `Not one segment: ${JSON.stringify(name)}`);
        check(Buffer.byteLength(name) <= 200, 'Longer than asked for');
        const key = name.normalize('NFC');
        const before = seen.get(key);
        check(
          before === undefined || before === text,
          `The same name as of ${JSON.stringify(before)}`,
        );
        if (seen.size < 100_000) seen.set(key, text);
        return name === text;
      },
    };
  },
};

export const times: ParserKind = {
  holds: 'a time within bounds, or none',
  async open(library) {
    const { parseRetryAfter } = await loadModule(library, 'http/retry');
    const { parseTimestamp, formatTimestamp } = await loadModule(library, 'base/time');
    const { parseCreatedAt, parseIsoTime } = await loadModule(library, 'post/posted-at');
    const errors = await outcomes(library);
    return {
      tokens: ['-', ':', 'T', 'Z', '+0000', 'Feb 30', '0000', '99999999', 'GMT', ' ', '.000'],
      seed: random =>
        Buffer.from(
          random.pick([
            ...['120', 'Wed, 21 Oct 2026 07:28:00 GMT', 'Sat Jan 06 20:00:00 +0000 2018'],
            ...['2018-01-06T20:00:00.000Z', '201801062000', '200603210000', '202402290000'],
          ]),
        ),
      attempt(input) {
        const text = input.toString();
        const wait = parseRetryAfter(text, 'Wed, 21 Oct 2026 07:28:00 GMT', 1e12);
        check(wait === undefined || (Number.isFinite(wait) && wait > 0), `It asks to wait ${wait}`);
        const at = parseTimestamp(text);
        if (at !== undefined) expectSame(formatTimestamp(at), text, 'Printed again, it is');
        const posted = errors.of(() => [parseCreatedAt(text), parseIsoTime(text)]);
        for (const ms of posted.value ?? [])
          check(Number.isNaN(ms) || Number.isInteger(ms), `A time of ${ms} ms`);
        return at !== undefined || wait !== undefined;
      },
    };
  },
};
