/**
 * Returns the value of a flag of a script. Returns `undefined` if the flag is absent.
 *
 * @throws Error If the value is not a whole number.
 */
export function numberFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new Error(`--${flag} is a number, not ${JSON.stringify(text)}`);
  return Number(text);
}
