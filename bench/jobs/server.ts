import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// Serves the files of one job that is complete. The parent process sends the list of files, and
// receives the address of the server.
interface Served {
  readonly files: readonly string[];
  readonly posts: number;
  readonly latencyMs: number;
}

const BASE = '/historical/rulestream/accounts/bench/publishers/twitter/jobs/benchjob01';

process.once('message', async ({ files, posts, latencyMs }: Served) => {
  const bodies = await Promise.all(files.map(file => readFile(file)));
  const paths = bodies.map((_, index) => {
    const iso = new Date(Date.UTC(2024, 0, 1) + index * 600_000).toISOString();
    const [year, month, day, hour, minute] = iso.split(/[-T:]/);
    return `/files/${year}/${month}/${day}/${hour}/${minute}_activities.json.gz`;
  });
  const byPath = new Map(paths.map((path, index) => [path, bodies[index] as Buffer]));
  const server = createServer(async ({ url = '' }, response) => {
    const { address, port } = server.address() as AddressInfo;
    const origin = `http://${address}:${port}`;
    const [path = ''] = url.split('?');
    const body = byPath.get(path);
    if (body !== undefined) {
      await sleep(latencyMs);
      response.setHeader('content-length', body.length);
      response.end(body);
    } else if (path.endsWith('/results.json')) {
      const urlList = paths.map(name => `${origin}${name}?Signature=bench`);
      const totalFileSizeBytes = bodies.reduce((sum, { length }) => sum + length, 0);
      response.end(JSON.stringify({ urlCount: bodies.length, urlList, totalFileSizeBytes }));
    } else {
      const dates = { fromDate: '202401010000', toDate: '202401020000' };
      const jobURL = `${origin}${BASE}.json`;
      const results = { activityCount: posts };
      response.end(
        JSON.stringify({ title: 'bench', jobURL, status: 'delivered', ...dates, results }),
      );
    }
  });
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
});
