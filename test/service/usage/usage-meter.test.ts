import { readdir } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import {
  PRODUCT_NAMES,
  type ProductName,
  startOfMonth,
} from '../../../src/service/usage/usage-meter.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { ALL, meterOf, START } from './local-meter.js';

type Step =
  | { readonly kind: 'deliver'; readonly product: ProductName; readonly ids: readonly string[] }
  | { readonly kind: 'request'; readonly product: ProductName }
  | { readonly kind: 'next day' | 'look' | 'restart' };

describe('the usage meter', () => {
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

  it('returns the same counts as a set of ids for each day and product', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
        const stateFolder = await temporaryFolder();
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
      { numRuns: bySuite(4, 160) },
    );
  });

  it('counts a post once even if the clock is set back by up to three days to the day of the post', async () => {
    const { clock, meter } = meterOf(await temporaryFolder());
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

  it('writes no files without a state folder, and counts nothing after it is closed', async () => {
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
});

describe('startOfMonth', () => {
  it('returns the start of the UTC month when the machine is west of Greenwich', () => {
    vi.stubEnv('TZ', 'America/New_York');
    try {
      expect(new Date(START).getTimezoneOffset()).toBe(300);
      for (const ms of [START, START + 31 * DAY - 1]) expect(startOfMonth(ms)).toBe(START);
      expect(startOfMonth(START + 31 * DAY)).toBe(START + 31 * DAY);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
