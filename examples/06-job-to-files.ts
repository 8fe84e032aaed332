// Runs a historical job from its rules to files by tag. You can stop the script at any point. If
// you run it again, it continues.
import * as millrace from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ jobDollarsPerDay: 500, stateFolder: 'out/job/service' });
const acme = millrace.account(await service.start());
const job = await millrace.jobs.run(acme, {
  title: 'weather and sport, 1 January 2024',
  fromDate: '202401010000',
  toDate: '202401020000',
  dataFormat: 'original',
  rules: ['rain', 'football'].map(word => ({ value: word, tag: word })),
  decide: ({ costDollars = 0 }) => costDollars <= 500,
  onStatus: ({ status, percentComplete = 0 }) => console.error(`${status} ${percentComplete} %`),
});
await millrace.pipeline(
  millrace.jobFiles(acme, job, {
    onVerdict: ({ summary, exitCode }) => {
      console.log(summary);
      process.exitCode = exitCode;
    },
  }),
  millrace.gunzip(),
  millrace.jsonLines(),
  millrace.activities(),
  millrace.dedupe(),
  millrace.routeByTag(),
  millrace.files({ path: 'out/job/{tag}.jsonl', checkpoint: 'out/job/checkpoint.json' }),
);
await service.stop();
