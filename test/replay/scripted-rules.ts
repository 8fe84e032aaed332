import { afterEach, beforeEach } from 'vitest';
import { type Account, account } from '../../src/http/account.js';
import { RulesStream } from '../http/rules-stream.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';

export let server: ScriptedServer;

export let stream: RulesStream;

/**
 * The account of the current test. Its name contains a space, and its stream is not the default
 * one.
 */
export let acme: Account;

export function setUpRules(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
    stream = new RulesStream(server);
    acme = account(
      {
        rulesUrl: `${server.url}/base/`,
        account: 'Acme Co',
        publisher: 'twitter',
        streamLabel: 'prod',
        ...LOGIN,
        timing: impatient(),
      },
      {},
    );
  });
  afterEach(() => server.stop());
}
