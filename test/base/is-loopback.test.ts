import { expect, it } from 'vitest';
import { isLoopback } from '../../src/base/is-loopback.js';

it.each([
  'http://localhost:8787',
  'http://LOCALHOST',
  'http://127.0.0.1',
  'http://127.8.9.10:80',
  'http://2130706433',
  'http://0x7f.1',
  'http://[::1]',
  'http://[0:0:0:0:0:0:0:1]:80',
])('isLoopback accepts %s', url => {
  expect(isLoopback(new URL(url).hostname)).toBe(true);
});

it.each([
  'http://localhost.example',
  'http://127.example',
  'http://127.0.0.1.example',
  'http://128.0.0.1',
  'http://0.0.0.0',
  'http://[::2]',
  'http://[::ffff:127.0.0.1]',
])('isLoopback refuses %s', url => {
  expect(isLoopback(new URL(url).hostname)).toBe(false);
});

it.each(['127.1', '0177.0.0.1', '2130706433', '::1', ''])(
  'isLoopback refuses %j, which no URL has as its host name',
  name => {
    expect(isLoopback(name)).toBe(false);
  },
);
