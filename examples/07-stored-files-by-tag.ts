// Splits a job's files on disk into one file per tag and day, with every post once. Argument: the
// folder of the files. Without it, a small job is run and downloaded first.
import * as millrace from 'millrace';
import { createService } from 'millrace/service';

const [folder = 'out/archive'] = process.argv.slice(2);
if (process.argv.length < 3) {
  const service = createService({ stateFolder: 'out/archive/.service' });
  const acme = millrace.account(await service.start());
  const job = await millrace.jobs.run(acme, {
    title: 'coffee and music',
    fromDate: '202401010600',
    toDate: '202401011200',
    dataFormat: 'original',
    rules: ['coffee', 'music'].map(word => ({ value: word, tag: word })),
    decide: () => true,
  });
  console.log((await millrace.jobs.download(acme, job, { folder })).summary);
  await service.stop();
}
const { posts, files } = await millrace.pipeline(
  millrace.localFiles(folder),
  millrace.gunzip(),
  millrace.jsonLines(),
  millrace.activities(),
  millrace.dedupe(),
  millrace.routeByTag(),
  millrace.files({ path: 'out/by-tag/{tag}/{day}.jsonl' }),
);
console.log(`${posts} posts in ${files.length} files below out/by-tag`);
