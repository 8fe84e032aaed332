import type { Addresses } from '../http/addresses.js';
import { shellWord } from './html/page-parts.js';

/** Who asks, for curl. */
export const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/** What the commands need once in each shell: no password of anyone is on the page. */
export function settingsCommand(addresses: Addresses): string {
  const settings = {
    MILLRACE_BASE_URL: addresses.baseUrl,
    MILLRACE_HISTORICAL_URL: addresses.historicalUrl,
    MILLRACE_REPLAY_STREAM_URL: addresses.replayStreamUrl,
    MILLRACE_RULES_URL: addresses.rulesUrl,
    MILLRACE_COMPLIANCE_STREAM_URL: addresses.complianceStreamUrl,
    MILLRACE_ACCOUNT_API_URL: addresses.accountApiUrl,
    MILLRACE_OAUTH_URL: addresses.oauthUrl,
    MILLRACE_DATA_URL: addresses.dataUrl,
    MILLRACE_ACCOUNT: addresses.account,
    MILLRACE_LABEL: addresses.label,
    MILLRACE_STREAM_LABEL: addresses.streamLabel,
    MILLRACE_COMPLIANCE_LABEL: addresses.complianceLabel,
    MILLRACE_PUBLISHER: addresses.publisher,
    MILLRACE_EMAIL: addresses.email,
    MILLRACE_CONSUMER_KEY: addresses.consumerKey,
  };
  const lines = Object.entries(settings).map(
    ([name, value]) => `export ${name}=${shellWord(value)}`,
  );
  return [
    ...lines,
    "printf 'Password: '; read -rs MILLRACE_PASSWORD; export MILLRACE_PASSWORD; echo",
  ].join('\n');
}

/** Asks for what only the application knows. */
export function withSecret(command: string): string {
  const ask = "printf 'Consumer secret: '; read -rs MILLRACE_CONSUMER_SECRET";
  return `${ask}; export MILLRACE_CONSUMER_SECRET; echo\n${command}`;
}

/** A script of a few lines that takes these names from the library. */
export function script(names: readonly string[], ...lines: readonly string[]): string {
  const script = [`import { ${names.join(', ')} } from "millrace";`, ...lines].join('\n');
  return `node --input-type=module -e ${shellWord(script)}`;
}
