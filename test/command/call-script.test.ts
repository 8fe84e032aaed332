import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Call, printScript, quoted, runScript } from '../../src/command/call-script.js';

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

it('runScript resolves when the objects of its constants are closed', async () => {
  const done: string[] = [];
  const close = async () => {
    await new Promise(setImmediate);
    done.push('closed');
  };
  const library = {
    open: () => ({ close }),
    read: (_opened: unknown) => done.push('read'),
  };
  const call = new Call('read', [new Call('open', [], 'opened')]);
  const { signal } = new AbortController();
  await runScript(
    { call },
    { library, signal, progress: 'off', confirm: () => expect.unreachable() },
  );
  expect(done).toEqual(['read', 'closed']);
});
