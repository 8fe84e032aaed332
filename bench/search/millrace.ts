import { account, search } from 'millrace';
import { onTask } from './task.js';

onTask(async function* ({ address, fromDate, toDate, slices }) {
  const acme = account({
    baseUrl: address,
    account: 'bench',
    label: 'bench',
    email: 'bench@example.com',
    password: 'bench',
  });
  const options = { query: 'coffee', product: 'fullarchive', fromDate, toDate, slices } as const;
  for await (const { items } of search(acme, options).batches()) yield items.map(post => post.id);
});
