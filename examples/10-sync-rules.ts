// Makes the rules of the replay stream equal to a list: first what would change, then the change.
import { account, renderRuleChanges, replayRules, syncRules } from 'millrace';
import { createService } from 'millrace/service';

const wanted = [
  { value: 'coffee OR espresso', tag: 'coffee' },
  { value: 'rain lang:en', tag: 'weather' },
  { value: '#football has:images', tag: 'sport' },
];

const service = createService({ stateFolder: 'out/rules/service' });
const acme = account(await service.start());
console.log(renderRuleChanges(await syncRules(acme, wanted, { dryRun: true })));
await syncRules(acme, wanted);
for await (const { id, tag, value } of replayRules(acme)) console.log(id, tag, value);
await service.stop();
