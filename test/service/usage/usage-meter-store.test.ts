import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { spawn } from '../../child-processes.js';
import { compiled } from '../../compiled.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { ALL, meterOf, START } from './local-meter.js';

describe('the usage store', () => {
  it('removes totals that no report needs, and ids of past days', async () => {
    const { clock, meter } = meterOf(await temporaryFolder());
    meter.delivered('30day', ['1']);
    clock.set(Date.UTC(2025, 0, 31));
    meter.delivered('30day', ['1']);
    expect(await meter.days(ALL)).toHaveLength(2);
    clock.set(Date.UTC(2025, 1, 2));
    meter.delivered('30day', ['1']);
    const days = await meter.days(ALL);
    expect(days.map(({ day }) => day)).toEqual([Date.UTC(2025, 0, 31), Date.UTC(2025, 1, 2)]);
    await meter.close();
  });

  it('removes every id when it is reset, so that the same posts count again', async () => {
    const { meter } = meterOf(await temporaryFolder());
    const ids = Array.from({ length: 12_000 }, (_, i) => String(i));
    for (let times = 0; times < 2; times++) {
      meter.delivered('30day', ids);
      expect(await meter.days(ALL)).toMatchObject([{ activities: ids.length }]);
      await meter.reset();
      expect(await meter.days(ALL)).toEqual([]);
    }
    await meter.close();
  });

  it('reports that it cannot use its folder without failing the delivery of posts', async () => {
    const { errors, meter } = meterOf('/dev/null/nowhere');
    meter.delivered('30day', ['1']);
    await expect(meter.days(ALL)).rejects.toThrow(
      'Could not open the usage in /dev/null/nowhere/usage',
    );
    expect(errors).toEqual([expect.objectContaining({ name: 'StorageError' })]);
    await meter.close();
  });

  it('opens its folder at the next call after it failed to open it', async () => {
    const stateFolder = await temporaryFolder();
    await writeFile(`${stateFolder}/usage`, 'not a folder');
    const { meter } = meterOf(stateFolder);
    await expect(meter.days(ALL)).rejects.toThrow('Could not open the usage in');
    await rm(`${stateFolder}/usage`);
    meter.delivered('30day', ['1']);
    expect(await meter.days(ALL)).toMatchObject([{ activities: 1 }]);
    await meter.close();
  });

  it('keeps posts counted just before the process was killed', async () => {
    const stateFolder = await temporaryFolder();
    const child = spawn(
      process.execPath,
      [compiled(path.join(import.meta.dirname, 'usage-to-kill.ts')), stateFolder],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    const { meter } = meterOf(stateFolder);
    meter.delivered('30day', ['1', '2']);
    expect(await meter.days(ALL)).toEqual([
      { day: START, product: '30day', activities: 5_000, requests: 1 },
    ]);
    await meter.close();
  });
});
