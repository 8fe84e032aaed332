import { DataError, type DataPlace } from '../errors.js';
import { urlForMessages } from '../http/secret.js';
import { isLoopback } from '../http/settings.js';

/**
 * The address of a file of a job: https, or on this machine. It is its own permission for a while, so
 * no message shows its query.
 *
 * @throws DataError
 */
export function checkFileUrl(text: string, place: DataPlace): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url !== undefined && isSafe && url.username === '' && url.password === '') return url;
  throw new DataError(
    `Expected the address of each file to be https, got ${url === undefined ? excerptWithoutQuery(text) : shown(url)}`,
    { place },
  );
}

/** The start of a text that is not what was expected, without what could be a signature. */
export function excerptWithoutQuery(text: string): string {
  const [start = ''] = text.split('?', 1);
  const cut = start.slice(0, 80);
  return JSON.stringify(cut.length < text.length ? `${cut}...` : cut);
}

function shown(url: URL): string {
  return url.host === '' ? excerptWithoutQuery(url.href) : urlForMessages(url).slice(0, 200);
}
