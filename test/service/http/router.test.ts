import { describe, expect, it } from 'vitest';
import { searchErrorBody } from '../../../src/service/http/http-problem.js';
import { createRouter, type Route } from '../../../src/service/http/router.js';

const route = (pattern: string): Route => ({
  endpoint: 'search',
  methods: ['GET'],
  pattern,
  errorBody: searchErrorBody,
  handle: () => ({ status: 200, body: [] }),
});

const find = createRouter([
  route('/search/:product/accounts/:account/:label/counts.json'),
  route('/search/:product/accounts/:account/:label.json'),
  route('/plain'),
]);

describe('the router', () => {
  it.each([
    ['/search/30day/accounts/acme/prod.json', { product: '30day', account: 'acme', label: 'prod' }],
    [
      '/search/30day/accounts/acme/counts.json',
      { product: '30day', account: 'acme', label: 'counts' },
    ],
    ['/search/x/accounts/a/prod/counts.json', { product: 'x', account: 'a', label: 'prod' }],
    ['/search/x/accounts/a%20b/l%2Fm.json', { product: 'x', account: 'a b', label: 'l/m' }],
    ['/search/x/accounts/a/l.m.json', { product: 'x', account: 'a', label: 'l.m' }],
    ['/plain', {}],
  ])('finds the route of the path %s', (pathname, path) => {
    expect(find(pathname)?.path).toEqual(path);
  });

  it.each([
    '/',
    '/search',
    '/Search/30day/accounts/acme/prod.json',
    '/search/30day/accounts/acme/prod.JSON',
    '/search/30day/accounts/acme/prod.json/',
    '/search/30day/accounts/acme/prodxjson',
    '/search/30day/accounts//prod.json',
    '/search/30day/accounts/%E0%A4%A/prod.json',
    '/x/search/30day/accounts/acme/prod.json',
    '/plain/',
  ])('finds no route for the path %s', pathname => {
    expect(find(pathname)).toBeUndefined();
  });
});
