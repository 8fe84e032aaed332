import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import { check, isRecord, outcomes, type ParserKind, parsedJson } from './parser.js';
import { JSON_TOKENS } from './seeds.js';

const TOKENS = [
  ...JSON_TOKENS,
  ...[
    '"next":',
    '"skip":',
    '"slice":',
    '"items":',
    '"source":"search"',
    '"window":{',
    '"fromDate":"',
  ],
  ...['"inner":', '"seen":', '"ids":', '"done":true'],
];

export const cursors: ParserKind = {
  holds: 'a position that the request can have, or an `OptionError`',
  async open(library) {
    const { cursorOf, positionOf } = await loadModule(library, 'search/query-cursor');
    const { parseReplayCursor } = await loadModule(library, 'replay/replay-cursor');
    const { SeenIds } = await loadModule(library, 'replay/replay-cursor');
    const { downloadCursors } = await loadModule(library, 'jobs/job-files');
    const { unwrapCursor } = await loadModule(library, 'flow/operator-state');
    const errors = await outcomes(library);
    const query = unchecked({ source: 'search', identity: { query: 'rain', slices: 4 } });
    const files = Array.from({ length: 5 }, (_, index) => ({ name: `2018010600${index}0` }));
    const downloads = downloadCursors(
      unchecked({
        basis: { job: { uuid: 'uuid', title: 'rain' } },
        files,
        shard: undefined,
      }),
    );
    const delivered = { bytes: 7, posts: 2, suspectMinutes: [], missing: [] };
    const seeds: readonly unknown[] = [
      cursorOf(query, {
        slice: 2,
        next: 'abc',
        skip: 3,
        items: 503,
        pages: 1,
        done: false,
        reached: Date.UTC(2018, 0, 20, 12, 30, 5),
        window: unchecked({ fromDate: '201801010000', toDate: '201802010000' }),
      }),
      downloads.cursorAt(unchecked({ next: 3, files: 3, ...delivered })),
      {
        source: 'replay',
        request: { url: 'x' },
        open: [
          {
            fromDate: '201801010000',
            toDate: '201801010010',
            mismatches: 0,
            failures: 1,
            partial: true,
          },
        ],
        gaps: [{ fromDate: '201801010010', toDate: '201801010020', reason: 'expired' }],
        chunkMinutes: 16,
        ids: { '201801010000': ['1,2'], none: [] },
      },
      { dedupe: ['1'], inner: { source: 'search' } },
    ];
    return {
      tokens: TOKENS,
      seed: random => Buffer.from(JSON.stringify(random.pick(seeds))),
      attempt(input) {
        const parsed = parsedJson(input);
        // The library checks that a caller's cursor is an object before it calls `positionOf`.
        if (parsed === undefined || !isRecord(parsed.value)) return false;
        const cursor = unchecked(parsed.value);
        const { value: position } = errors.of(() => positionOf(query, cursor));
        if (position !== undefined) {
          const { slice, skip, items, pages } = position;
          for (const count of [slice, skip, items, pages])
            check(Number.isSafeInteger(count) && count >= 0, `A count of ${count}`);
          check(slice < 4, `Slice ${slice} of 4`);
        }
        const { value: state } = errors.of(() => downloads.stateAt(cursor));
        if (state !== undefined) {
          const { next, files: count, bytes, posts } = state;
          check(
            next >= 0 && next <= files.length,
            `It goes on with file ${next} of ${files.length}`,
          );
          for (const one of [next, count, bytes, posts])
            check(Number.isSafeInteger(one) && one >= 0, `A count of ${one}`);
          for (const name of [...state.suspectMinutes, ...state.missing])
            check(typeof name === 'string', `A name that is ${JSON.stringify(name)}`);
        }
        const { value: replay } = errors.of(() => parseReplayCursor({ url: 'x' }, cursor));
        if (replay !== undefined) {
          for (const { from, to } of [...replay.state.open, ...replay.state.gaps])
            check(from < to, `A range from ${from} to ${to}`);
          check(replay.state.chunk > 0, `Chunks of ${replay.state.chunk} ms`);
          errors.of(() => new SeenIds().restore(replay.ids));
        }
        const { value: wrapped } = errors.of(() => unwrapCursor('dedupe', cursor));
        return [position, state, replay, wrapped].some(one => one !== undefined);
      },
    };
  },
};
