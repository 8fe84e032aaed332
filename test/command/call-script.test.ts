import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Call, printScript, quoted } from '../../src/command/call-script.js';

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("'", '"', '\\', '\n', '\0', '`', '${'),
    fc.string({ maxLength: 1 }),
  ),
});

it('a script that a command prints contains every string exactly, whatever its characters', () => {
  fc.assert(
    fc.property(text, value => {
      expect(runInNewContext(quoted(value))).toBe(value);
    }),
  );
  const call = new Call('stdout', [{ path: 'C:\\new\\table' }]);
  expect(printScript({ call })).toContain('stdout({ path: "C:\\\\new\\\\table" })');
});
