import { isLoopback } from '../../is-loopback.js';

/**
 * Whether a `Host` header, which may have a port, is a name of this machine. Any other name may be one of a site that
 * resolves to this machine (DNS rebinding).
 */
export function isLoopbackHost(host = ''): boolean {
  return isLoopback(host.replace(/:\d+$/, '').toLowerCase());
}
