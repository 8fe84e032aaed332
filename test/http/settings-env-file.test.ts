import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { loadVariables } from '../../src/http/settings.js';
import { temporaryFolder } from '../temporary-folder.js';

const NAMES = ['ENV_FILE_FIRST', 'ENV_FILE_SECOND', 'ENV_FILE_THIRD'];
afterEach(() => {
  for (const name of NAMES) delete process.env[name];
});

async function fileOf(content: Buffer): Promise<string> {
  const file = path.join(await temporaryFolder(), 'acme.env');
  await writeFile(file, content);
  return file;
}

describe('loadVariables', () => {
  it('skips a byte order mark, and keeps variables that are already set', async () => {
    process.env.ENV_FILE_THIRD = 'before';
    const lines = "\ufeffENV_FILE_FIRST=1\r\n# note\nENV_FILE_SECOND='two'\nENV_FILE_THIRD=3\n";
    loadVariables(await fileOf(Buffer.from(lines)));
    expect(NAMES.map(name => process.env[name])).toEqual(['1', 'two', 'before']);
  });

  it('names UTF-16 in its error for a UTF-16 file', async () => {
    const file = await fileOf(Buffer.from('\ufeffENV_FILE_FIRST=1\n', 'utf16le'));
    expect(() => loadVariables(file)).toThrow(/UTF-16/);
    expect(() => loadVariables(`${file}.none`)).toThrow(OptionError);
    expect(process.env.ENV_FILE_FIRST).toBeUndefined();
  });
});
