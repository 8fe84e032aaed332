import { type Account, account, activities, gunzip, jobFiles, jsonLines, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { Ids } from './ids.js';

export function benchAccount(historicalUrl: string | undefined): Account {
  return account({
    historicalUrl,
    account: 'bench',
    publisher: 'twitter',
    email: 'bench@example.com',
    password: 'bench',
  });
}

export async function download({ files, out }: Work, concurrency: number): Promise<void> {
  const acme = benchAccount(files[0]);
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
