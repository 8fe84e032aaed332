import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callbackTarget } from '../../../src/service/console/user-pages.js';

const text = fc.string({ unit: fc.oneof(fc.constantFrom(...'<>&"\'`/= a;#x'), fc.string()) });

describe('the form-action source in the Content-Security-Policy of a sign-in page', () => {
  it.each([
    ['http://127.0.0.1:3000/callback?a=b', 'http://127.0.0.1:3000'],
    ['https://App.Example/back', 'https://app.example'],
    ['http://localhost:1/', 'http://localhost:1'],
    ['http://[::1]:3000/', undefined],
    ['http://127.0.0.2:3000/', undefined],
    ['http://a;script-src.example/', undefined],
    ['http://a.example,b.example/', undefined],
    ['javascript:alert(1)', undefined],
    ['oob', undefined],
    ['', undefined],
  ])('for the callback %s is %s', (callback, target) => {
    expect(callbackTarget(callback)).toBe(target);
  });

  it('never adds a second source to the Content-Security-Policy', () => {
    fc.assert(
      fc.property(text, rest => {
        expect(callbackTarget(`http://a${rest}`) ?? '').not.toMatch(/[\s;,']/);
      }),
    );
  });
});
