import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DataError,
  HttpError,
  IncompleteError,
  JobError,
  RulesError,
} from '../../src/base/errors.js';
import { protect, redact, Secret } from '../../src/base/secret.js';
import { excerpt } from '../../src/json/excerpt.js';

describe('a secret', () => {
  const secret = new Secret('canary/pa55 word');

  it('prints as [redacted] in strings, JSON and inspect()', () => {
    const held = { secret, list: [secret] };
    const printed = [
      `${secret}`,
      String(secret),
      JSON.stringify(held),
      inspect(held, { depth: 9, showHidden: true, getters: true }),
      Object.values(secret).join(),
      JSON.stringify(structuredClone({ ...secret })),
    ];
    for (const text of printed) expect(text).not.toContain('canary');
    expect(`${secret}`).toBe('[redacted]');
    expect(JSON.stringify(held)).toBe('{"secret":"[redacted]","list":["[redacted]"]}');
  });

  it('shows its value only through reveal()', () => {
    expect(secret.reveal()).toBe('canary/pa55 word');
  });
});

function whileSecret<T>(texts: readonly string[], run: () => T): T {
  const release = protect(...texts);
  try {
    return run();
  } finally {
    release();
  }
}

const HTML_NAMES: Readonly<Record<string, string>> = {
  '"': 'quot',
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  "'": 'apos',
};

const html = (text: string, how: (character: string) => string) => text.replace(/["&<>']/g, how);

describe('redact', () => {
  const word = 'canary/pa55 word"&';
  const login = `me@acme.test:${word}`;

  it.each([
    ['plain', word],
    ['in JSON', JSON.stringify(word)],
    ['in JSON as PHP writes it', JSON.stringify(word).replaceAll('/', '\\/')],
    ['in JSON within JSON', JSON.stringify(JSON.stringify(word))],
    ['percent-encoded', encodeURIComponent(word)],
    ['percent-encoded in lower case', 'canary%2fpa55%20word%22%26'],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(word))],
    ['percent-encoded in every byte', [...word].map(percent).join('')],
    ['in a form', new URLSearchParams({ p: word }).toString()],
    ['in HTML', html(word, one => (one === '"' ? '&quot;' : '&amp;'))],
    ['in HTML with decimal references', html(word, one => `&#${one.charCodeAt(0)};`)],
    [
      'in HTML with hexadecimal references',
      html(word, one => `&#x${one.charCodeAt(0).toString(16)};`),
    ],
    ['in base64', Buffer.from(word).toString('base64')],
    ['in base64 after the email, as in a header', Buffer.from(login).toString('base64')],
    ['in hex', Buffer.from(word).toString('hex')],
    ['in hex, in capitals', Buffer.from(word).toString('hex').toUpperCase()],
  ])('removes a secret that is %s', (_how, text) => {
    const shown = whileSecret([word, login], () => redact(`before ${text} after`));
    expect(shown).toContain('[redacted]');
    expect(shown).not.toContain('pa55');
    expect(shown).toMatch(/^before .*after$/);
    for (const bytes of ['base64', 'hex'] as const)
      expect(shown).not.toContain(Buffer.from('canary/pa55').toString(bytes).slice(0, 12));
  });

  it('removes a secret in base64 or base64url, even without padding', () => {
    // The base64 of this word contains `+`, `/` and padding, which differ between the alphabets.
    const word = 'pass>?>?>ü';
    const base64 = Buffer.from(word).toString('base64');
    expect(base64).toMatch(/^(?=.*\+)(?=.*\/).*=$/);
    const unpadded = base64.replace(/=+$/, '');
    for (const text of [base64, unpadded, Buffer.from(word).toString('base64url')])
      for (const sent of [text, encodeURIComponent(text)])
        expect(whileSecret([word], () => redact(`<${sent}>`))).toBe('<[redacted]>');
  });

  it.each([
    ['   %', encodeURIComponent],
    ['   %', (text: string) => new URLSearchParams({ p: text }).toString().slice(2)],
    ['pass%', encodeURIComponent],
    ['pass&', (text: string) => html(text, () => '&amp;')],
    ['pass&', (text: string) => html(text, () => '&#38;')],
  ])('removes the whole escape of the last character of the secret %j', (word, encode) => {
    expect(whileSecret([word], () => redact(`<${encode(word)}>`))).toBe('<[redacted]>');
  });

  it('removes any secret in each encoding that requests and responses use', () => {
    const encodings: readonly ((text: string) => string)[] = [
      text => text,
      encodeURIComponent,
      text => new URLSearchParams({ p: text }).toString().slice(2),
      text => JSON.stringify(text).slice(1, -1),
      text => Buffer.from(text).toString('base64'),
      text => Buffer.from(text).toString('base64url'),
      text => Buffer.from(text).toString('hex'),
      text => html(text, one => `&#${one.charCodeAt(0)};`),
      text => html(text, one => `&${HTML_NAMES[one]};`),
    ];
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 4 }).filter(text => [...text].length >= 4),
        fc.constantFrom(...encodings),
        (text, encode) =>
          whileSecret([text], () => {
            expect(redact(`\n${encode(text)}\n`)).toBe('\n[redacted]\n');
          }),
      ),
    );
  });

  it('does not change text without a secret', () => {
    expect(whileSecret([word], () => redact('nothing here'))).toBe('nothing here');
  });

  it('removes a password of one letter only if it is a whole value, not a word of a sentence', () => {
    whileSecret(['a', 's'], () => {
      expect(redact("The service's clock")).toBe("The service's clock");
      expect(redact('A page has a post at last: a')).toBe('A page has a post at last: a');
      expect(redact('{"password":"a"} p=a&b=ab')).toBe(
        '{"password":"[redacted]"} p=[redacted]&b=ab',
      );
    });
  });

  it('removes a short password only as a whole word', () => {
    whileSecret(['station'], () => {
      for (const text of ['stationary', 'The substation', 'Playstation5', 'stations', 'station2'])
        expect(redact(text)).toBe(text);
      for (const text of ['station', 'p=station&q', '"station"', 'user:station', '_station_'])
        expect(redact(text)).toBe(text.replace('station', '[redacted]'));
    });
  });

  it('removes a short password in each encoding, even right after an escape', () => {
    const password = 'st a/on';
    const encodings = [
      encodeURIComponent(`p=${password}&q`),
      JSON.stringify(`\n${password}\n`),
      JSON.stringify(JSON.stringify(`\t${password}\u2028`)).replaceAll('\u2028', '\\u2028'),
      [...password].map(percent).join('').replace(/^/, 'x'),
      `x${Buffer.from(password).toString('base64')}x`,
      `9${Buffer.from(password).toString('hex')}9`,
      `x${password.replace('s', '&#115;')};`,
    ];
    whileSecret([password], () => {
      for (const text of encodings) expect(redact(text), text).toContain('[redacted]');
    });
  });

  it('removes a password of eight characters within a longer word', () => {
    whileSecret(['stations'], () => expect(redact('substations2')).toBe('sub[redacted]2'));
  });

  it('removes a secret that was protected twice until it is released twice', () => {
    const [one, other] = [protect('canary-twice'), protect('canary-twice')];
    one();
    expect(redact('canary-twice')).toBe('[redacted]');
    other();
    expect(redact('canary-twice')).toBe('canary-twice');
  });

  it('removes the rest of a secret that was cut off at the end of an excerpt', () => {
    const text = `${'x'.repeat(75)}canary-behind-the-cut`;
    const shown = whileSecret(['canary-behind-the-cut'], () => [
      excerpt(text),
      excerpt(Buffer.from(text)),
    ]);
    for (const one of shown) expect(one).not.toContain('can');
  });
});

describe('an error of the library', () => {
  const word = 'canary-in-an-error';
  const everything = (error: unknown) =>
    inspect(error, { depth: 12, showHidden: true, getters: true });

  it('shows no secret in its message, its stack or its causes', () => {
    const error = whileSecret([word], () => {
      const deepest = Object.assign(new TypeError(`deep ${word}`), { hint: word });
      const several = new AggregateError([new Error(word)], word, { cause: deepest });
      return new DataError(`top ${word}`, { cause: new Error(word, { cause: several }) });
    });
    expect(everything(error)).not.toContain(word);
    expect(error.message).toBe('top [redacted]');
    expect((error.cause as Error).message).toBe('[redacted]');
  });

  it('shows no part of a secret that the message of its cause has cut off', () => {
    const page = `{"a": ${'"x", '.repeat(10)}${word}${' '.repeat(50)}}`;
    const error = whileSecret([word], () => {
      try {
        return JSON.parse(page);
      } catch (cause) {
        return new DataError('Not JSON', { cause });
      }
    });
    expect(everything(error)).toContain('SyntaxError');
    expect(everything(error)).not.toContain('canar');
  });

  it('shows no secret in any property, such as `body` or `missing`', () => {
    const errors = whileSecret([word], () => [
      new HttpError('m', { status: 400, method: 'GET', url: 'https://x/', body: word }),
      new IncompleteError('m', { missing: [word] }),
      new JobError('m', { title: word, uuid: word, status: word }),
      new RulesError('m', { results: [{ value: 'rain', created: false, reason: word }] }),
      new DataError('m', { cause: word }),
    ]);
    for (const error of errors) expect(everything(error)).not.toContain(word);
  });

  it('keeps a frozen cause unchanged', () => {
    const cause = Object.freeze(new Error('frozen'));
    expect(whileSecret([word], () => new DataError('m', { cause }))).toMatchObject({ cause });
  });
});

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
