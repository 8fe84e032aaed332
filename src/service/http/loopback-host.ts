import { isIPv4 } from 'node:net';

/**
 * Whether a `Host` header is a name of this machine: `localhost`, `[::1]` or an address of 127, with a
 * port or none. Any other name may be one of a site that resolves to this machine (DNS rebinding).
 */
export function isLoopbackHost(host = ''): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}
