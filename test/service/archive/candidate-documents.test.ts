import { expect, test } from 'vitest';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import type { RuleNode } from '../../../src/rules/tree.js';
import { type Block, DocumentSet } from '../../../src/service/archive/block.js';
import { candidateDocuments } from '../../../src/service/archive/candidate-documents.js';

test('the search for 2048 characters that occur nowhere reads one term of the index', () => {
  const query = Array.from({ length: 2048 }, (_, i) => String.fromCharCode(0x4e00 + i)).join('');
  const { asked, found } = ask(query, []);
  expect(asked).toBe(1);
  expect(found).toEqual([]);
});

test('the search for one character repeated 2048 times reads two terms of the index', () => {
  const { asked, found } = ask('的'.repeat(2048), ['的', '的的']);
  expect(asked).toBe(2);
  expect(found).toEqual([0, 1, 2]);
});

test('the search for several clauses stops reading the index at a clause that matches no post', () => {
  const { asked, found } = ask('snow (rain OR hail) -sun -wind', ['rain', 'sun']);
  expect(asked).toBe(1);
  expect(found).toEqual([]);
});

/**
 * Looks up a query in a block of three posts, each of which contains all existing terms. Returns
 * the number of terms that were looked up, and the posts found.
 */
function ask(query: string, existing: readonly string[]) {
  let asked = 0;
  const block: Block = {
    count: 3,
    timeAt: () => 0,
    idAt: () => '1',
    postings: term => {
      asked++;
      return existing.includes(term) ? DocumentSet.all(3) : new DocumentSet(3);
    },
    load: () => Promise.reject(new Error('no post is read')),
  };
  const { documents } = candidateDocuments(
    checkRule(query, { product: 'search' }).tree as RuleNode,
    block,
  );
  return { asked, found: [...documents.members(0, 3)] };
}
