import { describe, expect, it } from 'vitest';
import { excerpt } from '../../src/json/excerpt.js';

describe('an excerpt of a document', () => {
  it('is its first 80 characters as a JSON string', () => {
    expect(excerpt('{"a":1}\n')).toBe('"{\\"a\\":1}\\n"');
    expect(JSON.parse(excerpt('x'.repeat(200)))).toBe('x'.repeat(80));
    expect(JSON.parse(excerpt('x'.repeat(200), 120))).toBe('x'.repeat(120));
  });

  it('is the same of bytes, also where its end cuts a character', () => {
    const text = 'é'.repeat(3_000);
    expect(excerpt(Buffer.from(text))).toBe(excerpt(text));
    expect(excerpt(Buffer.from(`x${text}`))).toBe(excerpt(`x${text}`));
  });
});
