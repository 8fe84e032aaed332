import { describe, expect, it } from 'vitest';
import { isLoopbackHost } from '../../../src/service/http/loopback-host.js';

describe('a Host header', () => {
  it.each([
    ...['127.0.0.1', '127.5.6.255', 'localhost', 'LocalHost', '[::1]'],
    ...['127.0.0.1:80', 'localhost:40000', '[::1]:1'],
  ])('is a name of this machine: %j', host => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each([
    ...[undefined, '', 'evil.example', 'localhost.', 'localhost.evil.example', '0.0.0.0', '[::]'],
    ...['127.0.0.1.evil.example', '127.1', '127.0.0.256', '127.0.0.99999', '127.0.0.01'],
    ...['2130706433', '[::ffff:127.0.0.1]', '::1', 'localhost:', 'localhost:x', 'localhost:1:2'],
    ...['a@localhost', 'localhost/', '127.0.0.1,localhost'],
  ])('is none: %j', host => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});
