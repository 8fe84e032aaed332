import { shellWord } from '../environment.js';

/** The login for curl, from the variables of the overview. */
export const LOGIN = '-u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';

/** A command that runs a short script with imports from the library. */
export function script(names: readonly string[], ...lines: readonly string[]): string {
  const script = [`import { ${names.join(', ')} } from "millrace";`, ...lines].join('\n');
  return `node --input-type=module -e ${shellWord(script)}`;
}
