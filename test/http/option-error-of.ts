import { expect } from 'vitest';
import { OptionError } from '../../src/base/errors.js';

export function optionErrorOf(act: () => unknown): OptionError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return error as OptionError;
  }
  throw new Error('It did not throw');
}
