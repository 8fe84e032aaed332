import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { localJobs } from './local-jobs.js';

interface Page {
  readonly results: readonly {
    readonly id_str: string;
    readonly matching_rules: readonly unknown[];
  }[];
}

describe('the files of a delivered job', () => {
  it('can be served as an archive in which the service searches and runs jobs', async () => {
    const first = await localJobs({ archive: undefined });
    const fields = {
      fromDate: '202405140900',
      toDate: '202405141500',
      rules: [{ value: 'coffee OR tea', tag: 'drinks' }],
    };
    const uuid = await first.bring('delivered', fields);
    const folder = await temporaryFolder();
    const csv = await first.ask(`/jobs/${uuid}/results.csv`);
    for (const line of csv.text.trimEnd().split('\n')) {
      const [name = '', url = ''] = line.split('\t');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, name), Buffer.from(await (await fetch(url)).arrayBuffer()));
    }
    const { results } = await first.job(uuid);
    expect(results?.activityCount).toBeGreaterThan(20);

    const second = await localJobs({ archive: folder, clock: NOW });
    const search = async (service: typeof first, query: string): Promise<Page> => {
      const path = `/search/30day/accounts/local/dev.json?maxResults=500&query=${encodeURIComponent(query)}`;
      const url = `${new URL(service.base).origin}${path}&fromDate=202405140900&toDate=202405141500`;
      const response = await fetch(url, { headers: { authorization: AUTHORIZATION } });
      return (await response.json()) as Page;
    };
    const ids = ({ results: posts }: Page) => posts.map(({ id_str }) => id_str);
    const found = await search(second, 'coffee');
    expect(ids(found)).toEqual(ids(await search(first, 'coffee')));
    expect(found.results.length).toBeGreaterThan(10);
    // The search adds its own matching rule to the post, and not the rules of the job.
    expect(found.results[0]?.matching_rules).toMatchObject([{ tag: null }]);

    const again = await second.bring('delivered', fields);
    expect((await second.job(again)).results?.activityCount).toBe(results?.activityCount);
    expect(await second.post({ title: 'other', dataFormat: 'activity_streams' })).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /'dataFormat'. The archive folder .* holds no posts of the format activity_streams/,
      ),
    });
  });
});
