import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { root } from '../pages.js';
import { temporaryFolder } from '../temporary-folder.js';
import { calls } from './calls.js';
import { disks } from './disks.js';
import { fuzz } from './fuzz.js';
import { jetstream } from './jetstream.js';
import { matrix } from './matrix.js';
import type { Cell, Counts, Part, RecordedCell, Trial } from './part.js';
import { record, replaces } from './record.js';
import { resultsPage } from './report.js';
import { commitsSince, currentCommit, staleness, touchedBy } from './staleness.js';
import { tryPart } from './try-part.js';

/** The URL of the library. The tests in this file do not load it. */
const LIBRARY = new URL('../../src/', import.meta.url);

function partOf(attempt: (trial: Trial) => Promise<Counts>, cell: Partial<Cell> = {}): Part {
  const only: Cell = { name: 'only/cell', expects: 'recovers', seeds: 6, ...cell };
  return {
    name: 'part',
    title: 'A part',
    promise: 'Nothing breaks.',
    cells: [only],
    open: () => ({ run: (_, trials) => trials.each(attempt) }),
  };
}

async function resultOf(part: Part, seeds?: number) {
  const [result] = await tryPart(part, { library: LIBRARY, cells: part.cells, seeds });
  return result!;
}

describe('a cell of the faults matrix', () => {
  it('is tried once per seed, with random numbers that depend only on the seed', async () => {
    const drawn: [number, number][] = [];
    const part = partOf(async ({ seed, random }) => {
      drawn.push([seed, random.next()]);
      return { hits: 1, posts: 10 };
    });
    expect(await resultOf(part)).toMatchObject({
      trials: 6,
      failures: [],
      counts: { hits: 6, posts: 60 },
    });
    expect(drawn.map(([seed]) => seed)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(new Set(drawn.map(([, number]) => number)).size).toBe(6);
    const before = [...drawn];
    await resultOf(part);
    expect(drawn.slice(6)).toEqual(before);
  });

  it.each<[string, (trial: Trial) => Promise<Counts>, string]>([
    [
      'throws',
      async ({ seed }) => {
        if (seed === 4) throw new Error('lost 3 posts');
        return { hits: 1 };
      },
      'lost 3 posts',
    ],
    [
      'leaves a rejection unhandled',
      async ({ seed }) => {
        if (seed === 4) Promise.reject(new Error('nobody listens'));
        await new Promise(resolve => setTimeout(resolve, 5));
        return { hits: 1 };
      },
      'nobody listens',
    ],
    [
      'hangs',
      ({ seed }) => (seed === 4 ? new Promise(() => {}) : Promise.resolve({ hits: 1 })),
      'it hangs',
    ],
  ])('fails with the seed of a trial that %s', async (_, attempt, message) => {
    // Removes vitest's listeners. Otherwise, vitest would report the unhandled rejection as a
    // failure.
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    try {
      const { failures } = await resultOf(partOf(attempt, { limitMs: 200 }));
      expect(failures).toMatchObject([{ seed: 4, message: expect.stringContaining(message) }]);
    } finally {
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });

  it('fails if its fault never took effect or if no trial ran', async () => {
    const vacuous = await resultOf(partOf(async () => ({ hits: 0 })));
    expect(vacuous.failures[0]?.message).toContain('never took effect');
    const none: Part = { ...partOf(async () => ({})), open: () => ({ run: async () => {} }) };
    expect((await resultOf(none)).failures[0]?.message).toContain('No trial');
  });

  it('fails if several trials were killed and none had committed anything', async () => {
    const restarted = partOf(async () => ({ hits: 1, committed: 0 }));
    expect((await resultOf(restarted)).failures[0]?.message).toContain('began at the start');
    expect((await resultOf(restarted, 2)).failures).toEqual([]);
    const resumed = partOf(async ({ seed }) => ({ hits: 1, committed: seed === 3 ? 1 : 0 }));
    expect((await resultOf(resumed)).failures).toEqual([]);
  });

  it('continues from the result of a run with fewer seeds', async () => {
    const seen: number[] = [];
    const part = partOf(async ({ seed }) => {
      seen.push(seed);
      return { hits: 1, posts: seed };
    });
    const done = await resultOf(part, 2);
    const [result] = await tryPart(part, {
      library: LIBRARY,
      cells: part.cells,
      doneOf: () => done,
    });
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(result).toMatchObject({ trials: 6, counts: { hits: 6, posts: 21 }, failures: [] });
  });

  it('starts no more trials after its time limit', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const two: Cell[] = ['one', 'two'].map(name => ({ name, expects: 'recovers', seeds: 6 }));
    const part: Part = {
      ...partOf(async () => {
        now += 40;
        return { hits: 1 };
      }),
      cells: two,
    };
    const results = await tryPart(part, { library: LIBRARY, cells: two, endAt: 20 });
    expect(results).toMatchObject([{ cell: 'one', trials: 1, failures: [] }]);
  });

  it('gives each trial its own empty folder', async () => {
    const folders: string[] = [];
    const { failures } = await resultOf(
      partOf(async ({ folder }) => {
        folders.push(folder);
        return { hits: 1 };
      }),
    );
    expect(failures).toEqual([]);
    expect(folders.length).toBe(6);
  });
});

describe('results of the faults matrix', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  const recordOfTwo = async () => {
    const file = path.join(folder, 'results.json');
    const part = partOf(async () => ({ hits: 1 }));
    const result = await resultOf(part, 2);
    const both: Part = { ...part, cells: [...part.cells, { name: 'other', expects: 'holds' }] };
    record(file, both, [result]);
    record(file, both, [{ ...result, cell: 'other' }]);
    return { file, part };
  };

  it('are stored by cell, with the day of the run', async () => {
    const { file } = await recordOfTwo();
    const kept = JSON.parse(await readFile(file, 'utf8'));
    expect(Object.keys(kept.part)).toEqual(['only/cell', 'other']);
    expect(kept.part.other).toMatchObject({ trials: 2, day: expect.stringMatching(/^\d{4}-/) });
  });

  it('are deleted if their cell no longer exists', async () => {
    const { file, part } = await recordOfTwo();
    expect(Object.keys(record(file, part, []).part ?? {})).toEqual(['only/cell']);
  });

  it('are stored with the tested commit, and the page counts the cells of each commit', async () => {
    const file = path.join(folder, 'results.json');
    const part = partOf(async () => ({ hits: 1 }));
    const both: Part = { ...part, cells: [...part.cells, { name: 'older', expects: 'holds' }] };
    const result = await resultOf(part, 2);
    const recorded = record(file, both, [result, { ...result, cell: 'older' }]);
    const commit = currentCommit();
    expect(commit).toMatch(/^[0-9a-f]{7,}\+?$/);
    const { older, ...rest } = recorded.part ?? {};
    expect(rest['only/cell']?.commit).toBe(commit);
    expect(resultsPage([both], recorded)).toContain(`Commits: \`${commit}\` (2 of 2 cells).`);
    // A result that was recorded when results did not contain commits yet.
    const before = { ...older, commit: undefined } as RecordedCell;
    const page = resultsPage([both], { part: { ...rest, older: before } });
    expect(page).toContain(`Commits: \`${commit}\` (1 of 2 cells), unknown (1 of 2 cells).`);
    expect(resultsPage([both], { part: { older: before } })).not.toContain('Commits');
  });

  it('contain the last lines of a failure, which explain why a process died', async () => {
    const output = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
    const stack = ['MillraceError: the disk is full', '    at write (file.js:1:2)', '', '}'];
    const part = partOf(async () => {
      throw new Error(['script.js ended with 1:', ...output, ...stack].join('\n'));
    });
    const file = path.join(folder, 'results.json');
    const recorded = record(file, part, [await resultOf(part, 1)]);
    const [failure] = recorded.part?.['only/cell']?.failures ?? [];
    const lines = failure?.message.split('\n') ?? [];
    expect(lines[0]).toBe('Error: script.js ended with 1:');
    expect(lines).toContain('MillraceError: the disk is full');
    expect(lines).toContain('line 30');
    expect(lines).not.toContain('line 2');
    expect(lines.length).toBeLessThan(20);
    expect(failure?.message).not.toContain('file.js');
    const page = resultsPage([part], recorded);
    expect(page).toMatch(/script\.js ended with 1: .*MillraceError: the disk is full \}/);
  });

  it('are marked on the page if the expectation of their cell has changed since', async () => {
    const part = partOf(async () => ({ hits: 1 }), { expects: 'holds', why: '1 KiB each' });
    const recorded = record(path.join(folder, 'results.json'), part, [await resultOf(part, 1)]);
    expect(resultsPage([part], recorded)).toContain('| holds: 1 KiB each | 1 |');
    const other = partOf(async () => ({ hits: 1 }), { expects: 'holds', why: '2 KiB each' });
    const page = resultsPage([other], recorded);
    expect(page).toContain('| holds: 2 KiB each (not tried since it says this) | 1 |');
    expect(page).not.toContain('1 KiB');
  });

  it('are on a page that also lists the cells for which there is nothing to try', async () => {
    const part = partOf(async () => ({ hits: 1 }));
    const none: Cell = { name: 'absent', expects: 'none', why: 'has no clock' };
    const recorded = record(path.join(folder, 'results.json'), part, [await resultOf(part, 1)]);
    const page = resultsPage([{ ...part, cells: [none, ...part.cells] }], recorded);
    expect(page).toMatch(/\| absent \| none: has no clock \|.*\n\| only\/cell \|/);
    expect(page).toContain('| `part` | 1 | 1 | 0 |');
    // The last recorded result has a different reason than the cell has now.
    const older = { ...recorded.part?.['only/cell'], cell: 'absent', expects: 'none', why: 'no' };
    const again = resultsPage([{ ...part, cells: [none] }], {
      part: { absent: older as RecordedCell },
    });
    expect(again).toContain('none: has no clock');
  });

  it('are shown on a page with the seed of each failure', async () => {
    const part = partOf(async ({ seed }) => {
      if (seed === 2) throw new Error('lost | one');
      return { hits: 1 };
    });
    const file = path.join(folder, 'results.json');
    const page = resultsPage([part], record(file, part, [await resultOf(part, 3)]));
    expect(page).toContain('| `part` | 1 | 3 | 1 |');
    expect(page).toContain('seed 2: Error: lost \\| one');
    expect(page).toContain(process.version);
  });

  describe('a new result', () => {
    const ofTrials = async (trials: number) => ({
      ...(await resultOf(
        partOf(async () => ({ hits: 1 })),
        1,
      )),
      trials,
    });
    const failures = [{ seed: 1, message: 'lost a post' }];
    const ofNothing = async () =>
      ({ ...(await ofTrials(0)), expects: 'none', counts: {} }) as const;

    it('is stored if its cell has none yet', async () => {
      expect(replaces(await ofTrials(1), undefined)).toBe(true);
    });

    it('replaces a result of fewer seeds', async () => {
      expect(replaces(await ofTrials(6), await ofTrials(1))).toBe(true);
    });

    it('does not replace a result of more seeds', async () => {
      const [one, six] = [await ofTrials(1), await ofTrials(6)];
      expect(replaces(one, six, { seeds: 1 })).toBe(false);
      expect(replaces(one, six)).toBe(false);
    });

    it('replaces a failed result, even one of more seeds', async () => {
      expect(replaces({ ...(await ofTrials(1)), failures }, await ofTrials(6))).toBe(true);
    });

    it('replaces a failed result if the run starts again at the first seed', async () => {
      const failed = { ...(await ofTrials(6)), failures };
      expect(replaces(await ofTrials(1), failed, { startsAgain: true })).toBe(true);
    });

    it('is not stored if its cell has nothing to try', async () => {
      const none = await ofNothing();
      expect(replaces(none, none, { seeds: 1 })).toBe(false);
      expect(replaces(none, undefined)).toBe(false);
    });
  });

  it('are deleted if their cell no longer has anything to try', async () => {
    const file = path.join(folder, 'results.json');
    const part = partOf(async () => ({ hits: 1 }));
    const result = await resultOf(part, 1);
    record(file, part, [result]);
    const none = { ...result, expects: 'none', trials: 0, counts: {} } as const;
    expect(record(file, part, [none]).part).toEqual({});
  });

  it('are marked as stale, with the number of commits, after 50 commits to the files of their cell', async () => {
    const cells = ['new', 'old', 'unknown'].map((name): Cell => ({ name, expects: 'recovers' }));
    const part: Part = { ...partOf(async () => ({ hits: 1 })), cells };
    const result = await resultOf(part, 1);
    const all = cells.map(({ name }) => ({ ...result, cell: name }));
    const recorded = record(path.join(folder, 'results.json'), part, all);
    const age: Readonly<Record<string, number>> = { new: 49, old: 50 };
    const page = resultsPage([part], recorded, (_, { cell }) => age[cell]);
    expect(page).toMatch(/\| `part` \| 3 \| 3 \| 0 \| 0 \| 2 \|/);
    expect(page).toContain('Stale: `old` (50 commits ago); `unknown` (of an unknown commit).');
    expect(page).toContain('| new | recovers |');
    expect(page).toContain('| old (50 commits ago) | recovers |');
    expect(resultsPage([part], recorded, () => 49)).not.toContain('Stale:');
  });

  it('have an age: the number of later commits to the files of their cell', () => {
    const here = currentCommit() as string;
    expect(commitsSince(here, ['src'])).toBe(0);
    expect(commitsSince('0000000', ['src'])).toBeUndefined();
    expect(commitsSince(undefined, ['src'])).toBeUndefined();
    expect(staleness(0)).toBeUndefined();
    expect(touchedBy('matrix', 'jobs.download/reset')).toContain('src/jobs');
    expect(touchedBy('matrix', 'jobs.download/reset')).not.toContain('src/replay');
    expect(touchedBy('fuzz', 'lines')).toContain('src');
    for (const part of [matrix, disks, calls, jetstream, fuzz])
      for (const { name } of part.cells)
        for (const file of touchedBy(part.name, name))
          expect(existsSync(path.join(root, file)), `${name}: ${file}`).toBe(true);
  });
});
