import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLongIds } from '../../../src/post/bytes/count-long-ids.js';
import { draws } from '../../suite.js';
import { jsonObject } from '../arbitrary-json.js';
import { writePost } from '../arbitrary-post.js';
import { type AuthorModel, postModel } from '../post-model.js';
import { printJson, style, type Value } from '../print-json.js';

/** The long numbers of a value: those of members, and those in arrays. */
function longNumbers(value: Value, inArray = false): { keyed: number; listed: number } {
  if (typeof value === 'bigint') {
    const long = String(value).replace('-', '').length >= 16 ? 1 : 0;
    return inArray ? { keyed: 0, listed: long } : { keyed: long, listed: 0 };
  }
  if (typeof value !== 'object' || value === null) return { keyed: 0, listed: 0 };
  const isList = Array.isArray(value);
  return Object.values(value)
    .map(item => longNumbers(item, isList))
    .reduce((a, b) => ({ keyed: a.keyed + b.keyed, listed: a.listed + b.listed }), {
      keyed: 0,
      listed: 0,
    });
}

describe('countLongIds', () => {
  it('counts the long numbers of any document, or returns that it cannot tell', () => {
    fc.assert(
      fc.property(jsonObject, style, (members, look) => {
        const { keyed, listed } = longNumbers(members);
        const count = countLongIds(Buffer.from(printJson(members, look)));
        if (count !== -1) expect({ count, listed }).toEqual({ count: keyed, listed: 0 });
      }),
      { numRuns: draws(650, 8_000) },
    );
  });

  it("can always tell for posts in the service's style", () => {
    const plainly = (author: AuthorModel) => ({
      ...author,
      name: 'Ann',
      bio: 'A. B.',
      location: '',
    });
    const plain = postModel.map(model => ({
      ...model,
      text: 'plain, 12 to 3',
      longText: undefined,
      quoted: undefined,
      shared: undefined,
      links: [],
      rules: [],
      author: plainly(model.author),
      mentions: model.mentions.map(plainly),
    }));
    fc.assert(
      fc.property(plain, fc.constantFrom('original', 'activity_streams'), (model, format) => {
        expect(countLongIds(writePost(model, format).bytes)).not.toBe(-1);
      }),
    );
  });

  it('finds a number of exactly sixteen digits at any offset', () => {
    for (let offset = 0; offset < 40; offset++) {
      const document = `{"${'k'.repeat(offset)}x":1234567890123456}`;
      expect(countLongIds(Buffer.from(document))).toBe(1);
      expect(countLongIds(Buffer.from(document.replace('6}', '}')))).toBe(0);
    }
  });
});
