import { account, activities, gunzip, jobFiles, jsonLines, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { Ids } from './ids.js';

export async function download({ files, out }: Work, concurrency: number): Promise<void> {
  const acme = account({
    historicalUrl: files[0],
    account: 'bench',
    publisher: 'twitter',
    email: 'bench@example.com',
    password: 'bench',
  });
  const ids = new Ids();
  await pipeline(
    jobFiles(acme, 'benchjob01', { concurrency }),
    gunzip(),
    jsonLines(),
    activities(),
    async input => {
      for await (const activity of input) ids.add(activity.id);
    },
  );
  await ids.write(out);
}
