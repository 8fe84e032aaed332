// Makes the rules of the replay stream equal to a list: first a dry run, then the change.
import { account, replayRules } from 'millrace';
import { createService } from 'millrace/service';

const wanted = [
  { value: 'coffee OR espresso', tag: 'coffee' },
  { value: 'rain lang:en', tag: 'weather' },
  { value: '#football has:images', tag: 'sport' },
];

const service = createService({ stateFolder: 'out/rules/service' });
const acme = account(await service.start());
console.log(replayRules.renderChanges(await replayRules.sync(acme, wanted, { dryRun: true })));
await replayRules.sync(acme, wanted);
for await (const { id, tag, value } of replayRules.list(acme)) console.log(id, tag, value);
await service.stop();
