import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { parseExact } from '../../../src/json/exact-ids.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { localStreams, type Reply } from './local-streams.js';

interface Rule {
  readonly value: string;
  readonly tag: string | null;
  readonly id: string;
}

function rulesOf({ text }: Reply): readonly Rule[] {
  return (parseExact(text) as { readonly rules: readonly Rule[] }).rules;
}

describe('replay rules stored by the local service', () => {
  it('keep their ids across a restart, and new rules do not get these ids', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localStreams([], { stateFolder });
    const ids = await first.addRules({ value: 'tea', tag: 't' }, { value: 'milk' });
    await first.rules('DELETE', '.json', { rules: [{ value: 'milk' }] });
    await first.service.stop();
    const second = await localStreams([], { stateFolder });
    expect(rulesOf(await second.rules('GET', '.json'))).toEqual([
      { value: 'tea', tag: 't', id: ids[0] },
    ]);
    const [milk] = await second.addRules({ value: 'milk' });
    expect(ids).not.toContain(milk);
  });

  it('are replaced atomically by every write', async () => {
    const stateFolder = await temporaryFolder();
    const { addRules, rules } = await localStreams([], { stateFolder });
    await Promise.all(Array.from({ length: 20 }, (_, i) => addRules({ value: `word${i}` })));
    expect(await readdir(join(stateFolder, 'stream-rules'))).toEqual(['rules.json']);
    expect(rulesOf(await rules('GET', '.json'))).toHaveLength(20);
  });

  it('are not added if they cannot be written to disk, and the response is a 500', async () => {
    const stateFolder = await temporaryFolder();
    const { rules, errors } = await localStreams([], { stateFolder });
    await writeFile(join(stateFolder, 'stream-rules'), 'in the way');
    expect((await rules('POST', '.json', { rules: [{ value: 'tea' }] })).status).toBe(500);
    expect(errors[0]).toBeInstanceOf(StorageError);
    expect(rulesOf(await rules('GET', '.json'))).toEqual([]);
  });

  it('prevent the service from starting if they cannot be read', async () => {
    const stateFolder = await temporaryFolder();
    await mkdir(join(stateFolder, 'stream-rules'));
    await writeFile(join(stateFolder, 'stream-rules', 'rules.json'), '{"rules":');
    await expect(localStreams([], { stateFolder })).rejects.toThrow(/rules\.json: .*\. Remove it/);
  });
});
