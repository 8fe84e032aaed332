import { createService } from 'millrace/service';

await using service = createService();
const { baseUrl, account, label, email, password } = await service.start();
const answer = await fetch(
  `${baseUrl}/search/30day/accounts/${account}/${label}.json?query=coffee&maxResults=10`,
  { headers: { authorization: `Basic ${btoa(`${email}:${password}`)}` } },
);
if (!answer.ok) throw new Error(await answer.text());
await answer.text();
