import { isIPv4 } from 'node:net';

/**
 * Whether the host name of a URL is a loopback address. `URL` normalizes every spelling of an address. A name
 * from elsewhere matches only if it is spelt normally.
 */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
