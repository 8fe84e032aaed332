import { DataError, type DataPosition } from '../errors.js';
import { urlForMessages } from '../http/secret.js';
import { isLoopback } from '../http/settings.js';

/**
 * Parses the address of a file of a job, which must be https or on this machine. The signature in its
 * query gives access to the file, so error messages leave the query out.
 *
 * @throws DataError
 */
export function checkFileUrl(text: string, position: DataPosition): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url !== undefined && isSafe && url.username === '' && url.password === '') return url;
  throw new DataError(
    `Expected the address of each file to be https, got ${url === undefined ? excerptWithoutQuery(text) : shown(url)}`,
    { position },
  );
}

/** The start of an unexpected text, up to the query of an address, which may be a signature. */
export function excerptWithoutQuery(text: string): string {
  const [start = ''] = text.split('?', 1);
  const cut = start.slice(0, 80);
  return JSON.stringify(cut.length < text.length ? `${cut}...` : cut);
}

function shown(url: URL): string {
  return url.host === '' ? excerptWithoutQuery(url.href) : urlForMessages(url).slice(0, 200);
}
