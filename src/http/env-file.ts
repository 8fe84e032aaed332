import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { OptionError } from '../base/errors.js';
import { withoutMark } from '../json/json-bytes.js';

/**
 * Sets the variables of a file that are not set. `process.loadEnvFile` takes a byte order mark for a part of the first name.
 *
 * @throws OptionError if the file cannot be read.
 */
export function loadVariables(file: string): void {
  try {
    const variables = parseEnv(withoutMark(readFileSync(file)).toString());
    for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
  } catch (cause) {
    const problem = `Could not read ${file}: ${(cause as Error).message}`;
    throw new OptionError('env-file', problem, { cause });
  }
}
