import { environmentOf, exportLines } from '../environment.js';
import type { Addresses } from '../http/addresses.js';
import { shellWord } from './html/page-parts.js';

/** Who asks, for curl. */
export const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/** What the commands need once in each shell: no password of anyone is on the page. */
export function settingsCommand(addresses: Addresses): string {
  const {
    MILLRACE_PASSWORD: _password,
    MILLRACE_CONSUMER_SECRET: _secret,
    ...shown
  } = environmentOf(addresses);
  const ask = "printf 'Password: '; read -rs MILLRACE_PASSWORD; export MILLRACE_PASSWORD; echo";
  return exportLines(shown) + ask;
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
