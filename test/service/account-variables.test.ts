import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shellWord } from '../../src/service/account-variables.js';
import { BASH_ARGS } from '../child-processes.js';

describe('a value quoted for a shell', () => {
  it('is read back unchanged by the shell, whatever it contains', () => {
    const words = fc.sample(fc.string({ unit: fc.constantFrom(...'\'"\\$`!#&;|<>* \n\tab') }), 300);
    const script = words.map(word => `printf '%s\\0' ${shellWord(word)}`).join('\n');
    const { stdout } = spawnSync('bash', [...BASH_ARGS, script], { encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).toEqual(words);
  });
});
