import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { temporaryFolder } from '../temporary-folder.js';
import { spellings } from './secrets.js';

async function printedBy(script: string, args: readonly string[]) {
  const file = compiled(path.join(import.meta.dirname, script));
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  return { stdout, stderr };
}

const SECRETS = ['kanarie/pass+word=1 "ü', 'kanarie&consumer%secret', 'kanarie-user-password'];

it('no secret appears in printed or stored data, whatever the service responds', async () => {
  const folder = await temporaryFolder();
  const secret = await temporaryFolder();
  const { stdout, stderr } = await printedBy('use-secrets.ts', [folder, secret, ...SECRETS]);
  expect(stdout.toString().endsWith('done\n'), stderr.toString().slice(-2_000)).toBe(true);
  const tokens = JSON.parse(await readFile(path.join(secret, 'tokens.json'), 'utf8')) as string[];
  expect(tokens.length).toBe(2);

  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter(name => name.isFile());
  const kept = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [file, await readFile(file)] as const;
    }),
  );
  const searched: readonly (readonly [string, Buffer])[] = [
    ['stdout', stdout],
    ['stderr', stderr],
    ...kept,
  ];
  // Without this, the test would pass if nothing was written.
  expect(kept.filter(([name]) => /\.json$/.test(name)).length).toBeGreaterThan(3);
  const text = stdout.toString();
  for (const kind of ['HttpError', 'ConnectionError', '[redacted]', 'alone', 'failed'])
    expect(text).toContain(kind);
  const found = searched.flatMap(([where, bytes]) =>
    [...SECRETS, ...tokens].flatMap(one =>
      spellings(one)
        .filter(spelling => bytes.includes(spelling))
        .map(spelling => `${spelling} in ${where}`),
    ),
  );
  expect(found).toEqual([]);
});

it('no secret appears in an error about a 200 that echoes the request as HTML or JSON', async () => {
  const folder = await temporaryFolder();
  const secrets = ['kanarie/pass+word=1 "ü', 'kanarie&consumer%secret', 'kanarie/signature='];
  const { stdout, stderr } = await printedBy('use-echoes.ts', [folder, ...secrets]);
  const [, json = '{}'] = /^failed (.*)\n$/m.exec(stdout.toString().slice(-2_000)) ?? [];
  const failed = JSON.parse(json) as Record<string, number>;
  expect(Object.keys(failed).length, stderr.toString().slice(-2_000)).toBeGreaterThan(20);
  // `add` and `delete` ignore the body of a successful response, and a compliance stream retries.
  // Therefore, these calls need not fail.
  for (const [name, times] of Object.entries(failed))
    if (!/add|delete|compliance/.test(name)) expect(times, name).toBeGreaterThan(0);
  expect(stdout.includes('[redacted]')).toBe(true);
  const found = [stdout, stderr].flatMap(printed => [
    ...secrets.flatMap(spellings).filter(spelling => printed.includes(spelling)),
    // An excerpt in an error may contain only half of a secret.
    ...[...printed.toString().matchAll(/kanar/g)].map(({ index, input }) =>
      input.slice(Math.max(0, index - 300), index + 20),
    ),
  ]);
  expect(found.slice(0, 5)).toEqual([]);
}, 300_000);
