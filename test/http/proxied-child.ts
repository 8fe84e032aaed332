// Uses the service at MILLRACE_URL through the proxy of HTTPS_PROXY, and prints the results.
import { account, collect, counts, MillraceError, pipeline, replay, search, take } from 'millrace';

const acme = account({ retry: { attempts: 1 }, limits: { replay: [] } });
const fromDate = new Date(Date.now() - 3 * 86_400_000);
const query = { product: '30day', query: 'rain', fromDate } as const;

try {
  const posts = await pipeline(search(acme, { ...query, limit: 50 }), collect());
  const buckets = await pipeline(counts(acme, { ...query, bucket: 'day' }), collect());
  const hour = 3_600_000;
  const end = Math.floor(Date.now() / hour) * hour - 2 * hour;
  const window = { fromDate: new Date(end - hour), toDate: new Date(end) };
  const replayed = await pipeline(replay(acme, { streamType: 'firehose', ...window }), collect());
  // This run stops early, and must close its tunnel.
  const some = await pipeline(
    replay(acme, { streamType: 'firehose', ...window }),
    take(1),
    collect(),
  );
  const idle = performance.now();
  process.on('exit', () => {
    console.log(
      JSON.stringify({
        ids: posts.map(({ id }) => id),
        counted: buckets.reduce((sum, { count }) => sum + count, 0),
        replayed: replayed.length,
        some: some.length,
        endMs: performance.now() - idle,
      }),
    );
  });
} catch (error) {
  if (!(error instanceof MillraceError)) throw error;
  console.log(JSON.stringify(Object.assign({}, error, { message: error.message })));
}
