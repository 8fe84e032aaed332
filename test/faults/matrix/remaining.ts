import { setImmediate } from 'node:timers/promises';
import { idOf } from './bare-client.js';
import { countPages, jobTexts, lines, searchPages } from './expected.js';
import { gzipTexts, inTable } from './outputs.js';
import type { RowName } from './pipelines.js';
import type { Prepared, Row } from './rows.js';
import { postedAt, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';
import type { World } from './world.js';

/** The keys of the items that one request delivers. */
type Piece = readonly string[];

/**
 * The requests that a pipeline needs, found with the tests' own client. A resumed run may send only
 * the requests whose items are not committed yet.
 */
export class Remaining {
  readonly #pieces: readonly Piece[];
  readonly #count: () => number;

  private constructor(pieces: readonly Piece[], count: () => number) {
    this.#pieces = pieces;
    this.#count = count;
  }

  /**
   * Must be called before a fault is planted. Resolves to `undefined` for a pipeline whose requests
   * are not known exactly.
   */
  static async of(row: Row, world: World, prepared: Prepared): Promise<Remaining | undefined> {
    const pieces = await PIECES[row.name]?.(world, prepared);
    const [endpoint] = row.endpoints;
    if (pieces === undefined || endpoint === undefined) return undefined;
    const { faults } = world.service;
    // A planted delay of 0 ms counts the requests.
    const { id } = faults.plant({ kind: 'delay', ms: 0, endpoint, times: 'always' });
    return new Remaining(pieces, () => faults.list().find(one => one.id === id)?.hits ?? 0);
  }

  /**
   * Returns the keys of the items that a run still has to deliver. `committed` contains the keys of
   * committed items. Pages, files and chunks are delivered as a whole.
   */
  keys(committed: ReadonlySet<string>): ReadonlySet<string> {
    return new Set(this.#left(committed).flat());
  }

  /**
   * Call this before a run. The returned function, called after the run, throws if the run has sent
   * more requests than it needed for the items that are not in `committed`.
   */
  expect(committed: ReadonlySet<string>): () => Promise<void> {
    const left = this.#left(committed).length;
    const before = this.#count();
    return async () => {
      // The service may still have to read the last requests of a killed process.
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      const sent = this.#count() - before;
      if (sent > left)
        throw new Error(
          `Sent ${sent} requests, and only ${left} of ${this.#pieces.length} were left: it began again`,
        );
    };
  }

  #left(committed: ReadonlySet<string>): readonly Piece[] {
    return this.#pieces.filter(piece => !piece.every(key => committed.has(key)));
  }
}

type PiecesOf = (world: World, prepared: Prepared) => Promise<Piece[]> | Piece[];

const pages: PiecesOf = async world => (await searchPages(world)).map(posts => posts.map(idOf));

const files: PiecesOf = async (world, { input }) =>
  [...(await jobTexts(world, input)).values()].map(text => lines(text).map(idOf));

const PIECES: Partial<Record<RowName, PiecesOf>> = {
  search: pages,
  'gzip files': pages,
  csv: pages,
  parquet: pages,
  tee: async (world, prepared) =>
    (await pages(world, prepared)).map(ids => [
      ...ids,
      ...inTable(ids.map(id => [id, ''] as const)).map(([key]) => key),
    ]),
  counts: async world =>
    (await countPages(world)).map(buckets => buckets.map(([period]) => period)),
  'job files': files,
  'job files, threads': files,
  'jobs.download': files,
  engagement: async (_, { input }) => (await gzipTexts(input)).map(text => lines(text).map(idOf)),
  replay: (_, { expected }) => {
    const { from, to } = WINDOWS.replay;
    const chunks = Array.from({ length: (to - from) / REPLAY_CHUNK_MS }, (): string[] => []);
    for (const id of expected.keys())
      chunks[Math.floor((postedAt(id) - from) / REPLAY_CHUNK_MS)]?.push(id);
    return chunks;
  },
};
