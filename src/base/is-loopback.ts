import { isIPv4 } from 'node:net';

/**
 * Whether the host name of a URL is a loopback address. `URL` normalizes all spellings of an address. If the
 * name does not come from `URL`, only the normal spelling matches.
 */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
