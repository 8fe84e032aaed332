import { unknownOption } from '../check.js';
import { OptionError } from '../errors.js';

/**
 * That there are options, and none that is not known: one that is misspelt would go unheard, and what
 * it was to prevent would happen.
 *
 * @throws OptionError
 */
export function checkNames(option: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new OptionError(option, `Expected \`${option}\` to be an object, got ${String(given)}`);
  const within = option === 'options' ? '' : `${option}.`;
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const { option: unknown, text } = unknownOption(within, name, known);
    throw new OptionError(unknown, text);
  }
}
