import { afterEach, beforeEach } from 'vitest';
import { type Account, account } from '../../src/http/account.js';
import { RulesStream } from '../http/rules-stream.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';

export let server: ScriptedServer;

/** The server of rules that the current test uses. */
export let stream: RulesStream;

/**
 * The account of the current test. Its name contains a space, and its stream is not the default
 * one.
 */
export let acme: Account;

/** Before each test of a file, starts a server of replay rules. Stops it afterwards. */
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
