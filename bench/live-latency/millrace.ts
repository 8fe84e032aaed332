import { account, compliance } from 'millrace';
import { Latencies } from './latencies.js';

const [address, messages] = process.argv.slice(2);
const latencies = new Latencies(Number(messages));
const acme = account({
  ...{ complianceStreamUrl: address, account: 'bench', publisher: 'twitter' },
  ...{ complianceLabel: 'bench', email: 'bench@example.com', password: 'bench' },
});
for await (const { raw } of compliance(acme))
  if (latencies.add((JSON.parse(String(raw)) as { sent: number }).sent)) break;
