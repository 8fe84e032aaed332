import { isDeepStrictEqual } from 'node:util';
import { ofPost, ofUser } from '../../compliance/event.js';
import { loadModule } from '../load-library.js';
import { Random } from '../random.js';

export interface KeptByLmdb {
  /** The folder with LMDB's files, relative to the folder given to `open`. */
  readonly folder: string;
  /** Steps that must run alone, because each consists of several transactions. */
  readonly alone: readonly number[];
  open(library: URL, folder: string, seed: number): Promise<OpenedByLmdb>;
}

export interface OpenedByLmdb {
  /**
   * Does step `n`, starting at 1. Resolves when the result of the step survives a power cut. A step
   * can be repeated.
   */
  step(n: number): Promise<unknown>;
  /**
   * Returns how many steps the stored data contains.
   * @throws if the data differs from the result of exactly these steps
   */
  done(): Promise<number>;
  close(): Promise<void>;
}

export const STEPS = 10;
const DAY = 86_400_000;
/** The step that removes a day, which frees pages. */
const PRUNES = 6;
const ON_FIRST_DAY = 3;

const tombstones: KeptByLmdb = {
  folder: 'deep/tombstones',
  alone: [],
  async open(library, folder, seed) {
    const { openTombstones } = await loadModule(library, 'compliance/tombstones');
    const opened = await openTombstones(`${folder}/deep/tombstones`);
    const users = ['7', '8'];
    return {
      step: n =>
        opened.record(
          [
            ...idsOf(seed, n).map(id => ofPost('delete', id)),
            // Each step overwrites these entries, so that LMDB frees and reuses pages.
            ...users.map(id => ofUser(n % 2 === 1 ? 'user_delete' : 'user_undelete', id, n)),
          ],
          { source: 'steps', cursor: { step: n } },
        ),
      async done() {
        const { step = 0 } = (opened.cursor('steps') ?? {}) as { step?: number };
        const ids = new Set<string>();
        for (let n = 1; n <= STEPS; n++)
          for (const id of idsOf(seed, n)) {
            mustBe(opened.post(id), n <= step ? { deleted: true } : undefined, `post ${id}`);
            if (n <= step) ids.add(id);
          }
        const user = step === 0 ? undefined : { deleted: [step, step % 2 === 1] };
        for (const id of users) mustBe(opened.user(id), user, `user ${id}`);
        mustBe(opened.size, ids.size + (step === 0 ? 0 : users.length), 'the size');
        return step;
      },
      close: () => opened.close(),
    };
  },
};

const usage: KeptByLmdb = {
  folder: 'usage',
  alone: [PRUNES],
  async open(library, folder, seed) {
    const { UsageStore } = await loadModule(library, 'service/usage/usage-meter');
    const store = new UsageStore(folder);
    // The store opens its file at the first call. This call makes `open` open the file, instead of
    // the first step.
    await store.days({ from: 0, to: DAY });
    const dayOf = (n: number) => (n <= ON_FIRST_DAY ? 0 : n < 9 ? DAY : 2 * DAY);
    // Repeats the ids of the previous step, which must be counted only once.
    const ids = (n: number) => [...idsOf(seed, n), ...idsOf(seed, n - 1)];
    return {
      async step(n) {
        if (n === PRUNES) await store.prune(DAY, DAY);
        else await store.add([{ day: dayOf(n), product: '30day', ids: ids(n), requests: 2 ** n }]);
      },
      async done() {
        const found = await store.days({ from: 0, to: 10 * DAY });
        const sum = found.reduce((all, { requests }) => all + requests, 0);
        const hasFirst = found.some(({ day }) => day === 0);
        // Step `n` adds 2 ** n requests, so the highest bit of the sum tells the last step.
        const last = Math.floor(Math.log2(Math.max(1, sum)));
        const step = last === PRUNES - 1 && !hasFirst ? PRUNES : last;
        const days = new Map<number, { ids: Set<string>; requests: number }>();
        for (let n = 1; n <= step; n++) {
          if (n === PRUNES) continue;
          const day = days.get(dayOf(n)) ?? { ids: new Set(), requests: 0 };
          for (const id of ids(n)) day.ids.add(id);
          days.set(dayOf(n), { ids: day.ids, requests: day.requests + 2 ** n });
        }
        if (step >= PRUNES) days.delete(0);
        const expected = [...days].map(([day, { ids, requests }]) => ({
          day,
          product: '30day',
          activities: ids.size,
          requests,
        }));
        mustBe(found, expected, 'the days');
        return step;
      },
      close: () => store.close(),
    };
  },
};

export const KEPT_BY_LMDB: ReadonlyMap<string, KeptByLmdb> = new Map([
  ['tombstones', tombstones],
  ['usage', usage],
]);

export function keptByLmdb(name: string): KeptByLmdb {
  const kept = KEPT_BY_LMDB.get(name);
  if (kept === undefined) throw new Error(`No such files: ${name}`);
  return kept;
}

/**
 * Returns the next steps that a process can do concurrently: up to `max` steps, or one step that
 * must run alone. They take effect in the order in which they are called.
 */
export function stepsAtOnce({ alone }: KeptByLmdb, next: number, max: number): readonly number[] {
  const count = Math.min(max, STEPS + 1 - next);
  const steps = Array.from({ length: count }, (_, index) => next + index);
  return steps.some(step => alone.includes(step)) ? [next] : steps;
}

/**
 * Opens the files that a process has left, and does up to `steps` more steps.
 *
 * @throws if a resolved step is missing, or if the file is wrong after the last step
 */
export async function goOn(
  open: () => Promise<OpenedByLmdb>,
  { resolved, steps }: { readonly resolved: number; readonly steps: number },
): Promise<void> {
  let opened = await open();
  const found = await opened.done();
  if (found < resolved) throw new Error(`${resolved} steps had resolved, ${found} are there`);
  const last = Math.min(STEPS, found + steps);
  for (let step = found + 1; step <= last; step++) await opened.step(step);
  for (const when of ['before', 'after'] as const) {
    const then = await opened.done();
    if (then !== last)
      throw new Error(`Went on to step ${last}; ${when} it is closed, it is at ${then}`);
    await opened.close();
    if (when === 'before') opened = await open();
  }
}

/**
 * Returns the ids of a step: either a few ids, or so many that the file grows. Each id belongs to
 * one step.
 */
function idsOf(seed: number, n: number): string[] {
  const random = new Random(`ids ${seed} ${n}`);
  const count = n < 1 ? 0 : random.chance(0.3) ? random.whole(200, 600) : random.whole(1, 20);
  return Array.from({ length: count }, (_, k) => String((k * 7_919 + 13) * 100 + n));
}

function mustBe(found: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(found, expected))
    throw new Error(
      `Expected ${what} to be ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`,
    );
}
