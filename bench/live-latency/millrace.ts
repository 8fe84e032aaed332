import { account, compliance } from 'millrace';
import { Arrivals } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const arrivals = new Arrivals(counts);
const acme = account({
  complianceStreamUrl: address,
  account: 'bench',
  publisher: 'twitter',
  complianceLabel: 'bench',
  email: 'bench@example.com',
  password: 'bench',
});
for await (const event of compliance(acme))
  if (arrivals.add(event.kind === 'delete' ? event.postId : undefined)) break;
