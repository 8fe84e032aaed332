import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createService } from 'millrace/service';
import { loadLibrary } from './load-library.js';
import { elementsOf, expectedPosts, fetchPages, hashOf, idOf } from './matrix/bare-client.js';
import { mustEqual } from './matrix/compare.js';
import type { Part } from './part.js';

const QUERY = { query: 'coffee OR music', maxResults: 10 };

export const matrix: Part = {
  name: 'matrix',
  title: 'Every pipeline under every fault',
  promise:
    'Every item arrives once, unchanged, whatever happens on the way; what cannot arrive is a typed error or a named gap.',
  cells: [{ name: 'search/reset', expects: 'recovers' }],

  async open(setting) {
    const millrace = await loadLibrary(setting);
    const service = createService({
      limits: 'relaxed',
      duplicatesAtPageEdges: true,
      seed: 'faults',
    });
    const addresses = await service.start();
    const now = service.clock.now();
    const dates = { fromDate: new Date(now - 49 * 3_600_000), toDate: new Date(now - 3_600_000) };
    const minute = (date: Date) => date.toISOString().replace(/\D/g, '').slice(0, 12);
    const window = { fromDate: minute(dates.fromDate), toDate: minute(dates.toDate) };
    const pages = await fetchPages(addresses, '/search/30day/accounts/local/dev.json', {
      ...QUERY,
      ...window,
    });
    const expected = expectedPosts(pages.flatMap(page => elementsOf(page, 'results')));
    return {
      run: (_cell, trials) =>
        trials.each(async ({ random, folder }) => {
          const { id } = service.faults.plant({
            kind: 'cut',
            endpoint: 'search',
            end: 'reset',
            skip: random.whole(0, pages.length - 1),
            afterBytes: random.whole(0, 4_000),
          });
          const { account, dedupe, files, pipeline, search } = millrace;
          await pipeline(
            search(account({ ...addresses, retry: { firstWaitMs: 1 } }), {
              product: '30day',
              ...QUERY,
              ...window,
            }),
            dedupe(),
            files({ path: path.join(folder, 'posts.jsonl') }),
          );
          const hits = service.faults.clear(id) === 0 ? 1 : 0;
          const text = await readFile(path.join(folder, 'posts.jsonl'), 'utf8');
          const lines = text.trimEnd().split('\n');
          mustEqual(
            lines.map(line => [idOf(line), hashOf(line)]),
            expected,
          );
          return { hits, posts: lines.length };
        }),
      close: () => service.stop(),
    };
  },
};
