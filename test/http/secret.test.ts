import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { redactor, Secret } from '../../src/http/secret.js';

describe('a secret', () => {
  const secret = new Secret('canary/pa55 word');

  it('is printed as redacted everywhere', () => {
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

  it('is revealed only by an explicit call', () => {
    expect(secret.reveal()).toBe('canary/pa55 word');
  });
});

describe('redacting a text', () => {
  const redact = redactor('me@acme.test', [new Secret('canary/pa55 word"')]);

  it.each([
    ['plain', 'canary/pa55 word"'],
    ['in JSON', JSON.stringify('canary/pa55 word"')],
    ['percent-encoded', encodeURIComponent('canary/pa55 word"')],
    ['percent-encoded in lower case', 'canary%2fpa55%20word%22'],
    ['as a form', new URLSearchParams({ p: 'canary/pa55 word"' }).toString()],
    ['in base64', Buffer.from('canary/pa55 word"').toString('base64')],
    ['in the header', Buffer.from('me@acme.test:canary/pa55 word"').toString('base64')],
    ['in hex', Buffer.from('canary/pa55 word"').toString('hex')],
  ])('works for one that is %s', (_how, text) => {
    const shown = redact(`before ${text} after`);
    expect(shown).toContain('[redacted]');
    expect(shown).not.toContain('pa55');
    expect(shown).toMatch(/^before .*after$/);
    for (const bytes of ['base64', 'hex'] as const)
      expect(shown).not.toContain(Buffer.from('canary/pa55').toString(bytes).slice(0, 12));
  });

  it('does not change other text', () => {
    expect(redact('nothing here')).toBe('nothing here');
  });
});
