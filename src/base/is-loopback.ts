import { isIPv4 } from 'node:net';

/**
 * Whether the host name of a URL is of this machine. `URL` normalizes every spelling of an address; of a name from
 * elsewhere, only the normal spelling counts.
 */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
