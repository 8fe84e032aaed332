import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Clock } from '../../../src/service/clock.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { UsageMeter } from '../../../src/service/usage/usage-meter.js';
import { PRODUCT_NAMES, type ProductName } from '../../../src/service/usage/usage-store.js';
import { DAY } from '../../../src/time.js';
import { spawn } from '../../child-processes.js';
import { compiled } from '../../compiled.js';
import { bySuite } from '../../slow-suite.js';
import { temporaryFolder } from '../../temporary-folder.js';

const START = Date.UTC(2024, 0, 1);
const ALL = { from: START - 1000 * DAY, to: START + 1000 * DAY };

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

let folders = 0;

function meterOf(stateFolder?: string, now = START) {
  const clock = new Clock();
  clock.freeze();
  clock.set(now);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const meter = new UsageMeter(clock, { stateFolder, limits: limitsOf('strict'), onError });
  return { clock, errors, meter };
}

type Step =
  | { readonly kind: 'deliver'; readonly product: ProductName; readonly ids: readonly string[] }
  | { readonly kind: 'request'; readonly product: ProductName }
  | { readonly kind: 'next day' | 'look' | 'restart' };

describe('the meter', () => {
  const product = fc.constantFrom(...PRODUCT_NAMES);
  const id = fc.oneof(
    fc.constantFrom('1', '9007199254740992', '9007199254740993', '18446744073709551615'),
    fc.nat(20).map(String),
  );
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('deliver' as const), product, ids: fc.array(id) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('request' as const), product }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('next day' as const, 'look' as const, 'restart' as const),
      }),
    },
  );

  it('counts like a set of ids for each day and product, over restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
        const stateFolder = path.join(folder, String(folders++));
        const { clock, errors, meter } = meterOf(stateFolder);
        const model = new Map<string, { ids: Set<string>; requests: number }>();
        const of = (product: ProductName) => {
          const key = `${clock.now()} ${product}`;
          const known = model.get(key) ?? { ids: new Set<string>(), requests: 0 };
          model.set(key, known);
          return known;
        };
        const look = async () => {
          const days = await meter.days(ALL);
          const seen = days.map(({ day, product, activities, requests }) => [
            `${day} ${product}`,
            { activities, requests },
          ]);
          const expected = [...model].map(([key, { ids, requests }]) => [
            key,
            { activities: ids.size, requests },
          ]);
          expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(expected));
        };
        for (const step of steps) {
          if (step.kind === 'deliver') {
            meter.delivered(step.product, step.ids);
            if (step.ids.length > 0) for (const id of step.ids) of(step.product).ids.add(id);
          } else if (step.kind === 'request') {
            meter.requested(step.product);
            of(step.product).requests++;
          } else if (step.kind === 'next day') clock.advance(DAY);
          else if (step.kind === 'look') await look();
          else {
            await meter.close();
            meter.open();
          }
        }
        await look();
        await meter.close();
        expect(errors).toEqual([]);
      }),
      { numRuns: bySuite(15, 160) },
    );
  });

  it('removes totals that no report reaches, and ids of past days', async () => {
    const { clock, meter } = meterOf(path.join(folder, 'old'));
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

  it('counts a post once on a day to which the clock is set back, within three days', async () => {
    const { clock, meter } = meterOf(path.join(folder, String(folders++)));
    meter.open();
    for (const [index, id] of ['1', '2', '3'].entries()) {
      clock.set(START + index * DAY);
      meter.delivered('30day', [id]);
      await meter.days(ALL);
    }
    clock.set(START);
    meter.delivered('30day', ['1']);
    const first = (await meter.days(ALL)).filter(({ day }) => day === START);
    expect(first).toMatchObject([{ product: '30day', activities: 1 }]);
    await meter.close();
  });

  it('leaves no files without a state folder, and counts nothing after it is closed', async () => {
    const own = await temporaryFolder();
    vi.stubEnv('TMPDIR', own);
    const { meter } = meterOf();
    meter.delivered(
      '30day',
      Array.from({ length: 10_000 }, (_, i) => String(i)),
    );
    expect((await meter.days(ALL)).map(({ activities }) => activities)).toEqual([10_000]);
    expect(await readdir(own)).toHaveLength(1);
    await meter.close();
    meter.delivered('30day', ['1']);
    meter.requested('30day');
    await meter.close();
    vi.unstubAllEnvs();
    expect(await readdir(own)).toEqual([]);
  });

  it('reports a folder that it cannot use, and does not disturb delivery', async () => {
    const { errors, meter } = meterOf('/dev/null/nowhere');
    meter.delivered('30day', ['1']);
    await expect(meter.days(ALL)).rejects.toThrow(
      'Could not open the usage in /dev/null/nowhere/usage',
    );
    expect(errors).toEqual([expect.objectContaining({ name: 'StorageError' })]);
    await meter.close();
  });

  it('has stored counts from just before the process is killed', async () => {
    const stateFolder = path.join(folder, 'killed');
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
