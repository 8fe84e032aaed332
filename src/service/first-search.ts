import { DAY, datesOf, floorTo } from '../base/time.js';
import type { Archive } from './archive/archive.js';
import { newestPost } from './archive/find-posts.js';
import { shellWord } from './environment.js';
import type { Addresses } from './http/addresses.js';

/** A search that finds something in the archive. */
export interface FirstSearch {
  readonly product: '30day' | 'fullarchive';
  readonly parameters: Readonly<Record<string, string>>;
}

/** The author of the newest post, on the day of that post; undefined for an empty archive. */
export async function firstSearch(archive: Archive, now: number): Promise<FirstSearch | undefined> {
  const newest = await newestPost(archive, now);
  if (newest === undefined) return undefined;
  const query = `from:${newest.activity.author.handle}`;
  if (newest.at > now - 29 * DAY)
    return { product: '30day', parameters: { query, maxResults: '10' } };
  const from = floorTo(DAY, newest.at);
  const dates = datesOf({ from, to: from + DAY });
  return { product: 'fullarchive', parameters: { query, ...dates, maxResults: '10' } };
}

/** Generated posts: a word that they often have. */
export const GENERATED_SEARCH: FirstSearch = {
  product: '30day',
  parameters: { query: 'coffee', maxResults: '10' },
};

/** The search as a command that needs no settings. */
export function firstCommand(addresses: Addresses, { product, parameters }: FirstSearch): string {
  const { baseUrl, account, label, email, password } = addresses;
  const path = [product, 'accounts', account, label].map(encodeURIComponent).join('/');
  const url = `${baseUrl}/search/${path}.json?${new URLSearchParams(parameters)}`;
  return `curl -u ${shellWord(`${email}:${password}`)} ${shellWord(url)}`;
}
