import { describe, expect, it } from 'vitest';
import { excerpt } from '../../src/json/excerpt.js';

describe('excerpt', () => {
  it('returns the first 80 characters of a document as a JSON string', () => {
    expect(excerpt('{"a":1}\n')).toBe('"{\\"a\\":1}\\n"');
    expect(JSON.parse(excerpt('x'.repeat(200)))).toBe('x'.repeat(80));
    expect(JSON.parse(excerpt('x'.repeat(200), 120))).toBe('x'.repeat(120));
  });

  it('returns the same for bytes, even if the limit is inside a character', () => {
    const text = 'é'.repeat(3_000);
    expect(excerpt(Buffer.from(text))).toBe(excerpt(text));
    expect(excerpt(Buffer.from(`x${text}`))).toBe(excerpt(`x${text}`));
  });
});
