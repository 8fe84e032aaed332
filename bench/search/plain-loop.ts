import { onTask } from './task.js';

interface Page {
  readonly results: readonly { readonly id_str: string }[];
  readonly next?: string;
}

/** A script without a library. It reads one page after the other, and checks nothing. */
onTask(async function* ({ address, fromDate, toDate }) {
  let next: string | undefined;
  do {
    const response = await fetch(`${address}/search/fullarchive/accounts/bench/bench.json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'coffee', maxResults: 500, fromDate, toDate, next }),
    });
    const page = (await response.json()) as Page;
    yield page.results.map(post => post.id_str);
    next = page.next;
  } while (next !== undefined);
});
