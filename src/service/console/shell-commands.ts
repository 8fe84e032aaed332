import { environmentOf, exportLines } from '../environment.js';
import type { Addresses } from '../http/addresses.js';

/** The login for curl. */
export const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/** The settings that the commands need once in each shell. It asks for the password, which pages never show. */
export function settingsCommand(addresses: Addresses): string {
  const {
    MILLRACE_PASSWORD: _password,
    MILLRACE_CONSUMER_SECRET: _secret,
    ...shown
  } = environmentOf(addresses);
  const ask = "printf 'Password: '; read -rs MILLRACE_PASSWORD; export MILLRACE_PASSWORD; echo";
  return exportLines(shown) + ask;
}

/** Prefixes a command with a prompt for the application's secret. */
export function withSecret(command: string): string {
  const ask = "printf 'Consumer secret: '; read -rs MILLRACE_CONSUMER_SECRET";
  return `${ask}; export MILLRACE_CONSUMER_SECRET; echo\n${command}`;
}

/** A command that runs a short script with imports from the library. */
export function script(names: readonly string[], ...lines: readonly string[]): string {
  const script = [`import { ${names.join(', ')} } from "millrace";`, ...lines].join('\n');
  return `node --input-type=module -e ${shellWord(script)}`;
}

/** Quotes text as one word for a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
