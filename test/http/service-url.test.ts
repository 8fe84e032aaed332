import { expect, it } from 'vitest';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { optionErrorOf } from './option-error-of.js';

it('all settings that a call misses are named in one error, with their variables', () => {
  const { message } = optionErrorOf(() =>
    search(account({ account: 'acme', email: 'karl@acme.example' }, {}), {
      query: 'snow',
      product: '30day',
    }),
  );
  expect(message).toContain('needed for searches');
  for (const name of ['`baseUrl` (MILLRACE_BASE_URL)', '`label` (MILLRACE_LABEL)'])
    expect(message).toContain(name);
  expect(message).toContain('`password` (MILLRACE_PASSWORD)');
  expect(message).toContain('MILLRACE_URL alone sets all addresses where they are one');
  expect(message).not.toContain('`email`');
});
