import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { jsonIn } from '../../src/command/command.js';
import { temporaryFolder } from '../temporary-folder.js';

it.each(['', '\ufeff'])(
  'a script that a command prints can read a JSON file with %j before the JSON',
  async mark => {
    const file = path.join(await temporaryFolder(), 'rules.json');
    await writeFile(file, `${mark}[{"value":"tea \ufeff"}]`);
    const { text = '' } = jsonIn(file, () => undefined);
    expect(JSON.stringify(runInNewContext(text, { readFileSync }))).toBe(
      '[{"value":"tea \ufeff"}]',
    );
  },
);
