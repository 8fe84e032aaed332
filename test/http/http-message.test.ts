import { expect, it } from 'vitest';
import { urlForMessages } from '../../src/http/http-message.js';

it.each([
  ['https://search.test/a', 'https://search.test/a'],
  ['https://search.test/a?signature=secret&x=1', 'https://search.test/a?...'],
  ['https://search.test:8443/a/b#fragment', 'https://search.test:8443/a/b'],
  ['https://karl:pa55word@search.test/a', 'https://search.test/a'],
])('error messages show the URL %s as %s', (url, shown) => {
  expect(urlForMessages(new URL(url))).toBe(shown);
});
