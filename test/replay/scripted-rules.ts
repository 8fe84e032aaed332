import { afterEach, beforeEach } from 'vitest';
import { type Account, account } from '../../src/http/account.js';
import { RulesStream } from '../http/rules-stream.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';

export let server: ScriptedServer;

/** The rules that the server holds. */
export let stream: RulesStream;

/** Its name has a space, and its stream a path of its own. */
export let acme: Account;

/** Starts a server that holds the rules of a replay stream before each test of a file, and stops it after. */
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
