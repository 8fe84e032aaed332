import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import { LOGIN } from '../login.js';
import type { ScriptedServer } from './scripted-server.js';
import { impatient } from './virtual-time.js';

export function scriptedAccount(server: ScriptedServer, options: AccountOptions = {}): Account {
  return account(
    {
      replayStreamUrl: server.url,
      complianceStreamUrl: server.url,
      baseUrl: server.url,
      account: 'acme',
      publisher: 'twitter',
      streamLabel: 'prod',
      complianceLabel: 'prod',
      label: 'prod',
      ...LOGIN,
      timing: impatient(),
      ...options,
    },
    {},
  );
}
