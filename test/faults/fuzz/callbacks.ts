import { setImmediate as turn } from 'node:timers/promises';
import { loadModule } from '../load-library.js';
import { answerOf, pathsOf } from './bare-requests.js';
import { check, expectSame, type Outcome, outcomes, type ParserKind } from './parser.js';

const PATH = '/callback';
const TOKEN = 'request+token=';

/**
 * The request with which a browser returns from a sign-in. The first line of an input is the
 * address, and the second line is the Host header.
 */
export const callbacks: ParserKind = {
  holds:
    'only the callback of its own request token is accepted, once, under 127.0.0.1 and its port; its verifier is that of the address',
  async open(library) {
    const { CallbackServer } = await loadModule(library, 'users/callback-server');
    const errors = await outcomes(library);
    const token = encodeURIComponent(TOKEN);
    return {
      tokens: [
        ...['oauth_token=', 'oauth_verifier=', 'denied=', '&', '=', '+', '%', '%26', '%3D', '%zz'],
        ...['%ff', '%5F', '%00', '?', '#', ';', '/', '/..', '/./', '%2e', '\\', '\t', ' ', '\0'],
        ...[token, 'localhost', '127.0.0.1', ':', ':80', '@', '[::1]', '.', ',', '\n'],
      ],
      maxBytes: 2_000,
      seed: random =>
        Buffer.from(
          [
            random.pick([
              `${PATH}?oauth_token=${token}&oauth_verifier=1`,
              `${PATH}?denied=${token}`,
              `${PATH}?oauth_token=${token}&oauth_verifier=%C3%BC%2B+x`,
              `${PATH}?oauth_verifier=123&oauth_token=${token}#x`,
              `/x/..${PATH}?a=b&oauth_token=${token}&oauth_verifier=v`,
              `${PATH}?denied=${token}`,
              `${PATH}?oauth_token=other&oauth_verifier=v`,
              `${PATH}?oauth_token=${token}&oauth_verifier=`,
              `${PATH}?oauth_token=${token}&oauth_verifier=a&oauth_verifier=b`,
              '/favicon.ico',
            ]),
            random.chance(0.8)
              ? '127.0.0.1:PORT'
              : random.pick(['localhost:PORT', '127.0.0.1', 'evil.example:PORT', '127.0.0.1:80']),
          ].join('\n'),
        ),
      async attempt(input, random) {
        const server = new CallbackServer(PATH);
        const { port } = new URL(await server.listen(0));
        try {
          const [line = '', host] = input.toString('latin1').replaceAll('PORT', port).split('\n');
          // HTTP parsers skip spaces around the address.
          const target = line.replace(/^ +| +$/g, '');
          const method = random.pick(['GET', 'GET', 'GET', 'GET', 'GET', 'POST', 'HEAD']);
          const lines = [
            `${method} ${target} HTTP/1.1`,
            ...(host === undefined ? [] : [`Host: ${host}`]),
            ...['Connection: close', '', ''],
          ];
          // In some trials, the callback arrives before the request token is known, as if it
          // belonged to another sign-in.
          const early = random.chance(0.1) ? await answerOf(Number(port), lines) : undefined;
          check(
            early === undefined || early.status >= 400,
            'It is accepted before there is a token',
          );
          let settled: Outcome<string> | undefined;
          const decided = errors
            .ofAsync(() => server.verifierOf(TOKEN))
            .then(outcome => {
              settled = outcome;
            });
          const { status } = await answerOf(Number(port), lines);
          const shown = `${method} ${target} for ${host} answered ${status}`;
          const isOurs =
            method === 'GET' && host?.replace(/^[ \t]+|[ \t]+$/g, '') === `127.0.0.1:${port}`;
          const expected = isOurs ? verdictOf(target) : undefined;
          // HTTP parsers may refuse these addresses, and Node's `URL` may keep a `..` in them.
          const isUnsure = /^[^/]|[\t\f\x80-\xff]/.test(target) || pathsOf(target).length > 1;
          if (expected === undefined || (isUnsure && status !== 200)) {
            check(status >= 400, `Accepted: ${shown}`);
            await turn();
            check(settled === undefined, `It decides: ${shown}`);
            return false;
          }
          check(status === 200, `Refused: ${shown}`);
          await decided;
          if (expected === 'denied') check(settled?.error !== undefined, `Not denied: ${shown}`);
          else expectSame(settled?.value, expected.verifier, 'The verifier is');
          const again = await answerOf(Number(port), lines);
          check(again.status === 410, `Once more, ${shown}, and then ${again.status}`);
          return true;
        } finally {
          server.close();
        }
      },
    };
  },
};

/**
 * Reads the result of a sign-in from the address of a callback, by rules that are independent of
 * the library. Returns undefined if the address is not a callback for this token.
 */
function verdictOf(target: string): 'denied' | { readonly verifier: string } | undefined {
  if (/[\0-\x08\x0a\x0b\x0d-\x20\x7f]/.test(target) || pathsOf(target)[0] !== PATH)
    return undefined;
  const [address = ''] = target.replaceAll('\t', '').split('#');
  const query = address.includes('?') ? address.slice(address.indexOf('?') + 1) : '';
  const pairs = query.split('&').map(pair => {
    const [name = '', ...value] = pair.split('=');
    return [decoded(name), decoded(value.join('='))] as const;
  });
  const only = (name: string) => {
    const values = pairs.filter(([found]) => found === name).map(([, value]) => value);
    return values.length === 1 ? values[0] : undefined;
  };
  if (only('denied') === TOKEN) return 'denied';
  const verifier = only('oauth_verifier') ?? '';
  return only('oauth_token') === TOKEN && verifier !== '' ? { verifier } : undefined;
}

/** Decodes a form value. Invalid UTF-8 is replaced, and a `%` without two hex digits is kept. */
function decoded(text: string): string {
  // Each character of this string is one byte of the URL. Characters outside of ASCII become
  // several bytes of UTF-8.
  const bytes = Buffer.from(text.replaceAll('+', ' ')).toString('latin1');
  const unescaped = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(unescaped, 'latin1').toString();
}
