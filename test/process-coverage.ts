import { GREATEST_LOWER_BOUND, generatedPositionFor, TraceMap } from '@jridgewell/trace-mapping';

interface Position {
  readonly line: number;
  readonly column: number;
}

interface Range {
  /** The start of the range. It is empty for an `else` that is not in the code. */
  readonly start: Partial<Position>;
}

/**
 * The coverage of one source, in the form that Istanbul's reports read. Statements, functions and
 * branches are numbered. `s`, `f` and `b` contain how often each was run.
 */
export interface FileCoverage {
  readonly path: string;
  readonly statementMap: Readonly<Record<string, Range>>;
  readonly fnMap: Readonly<Record<string, { readonly loc: Range }>>;
  readonly branchMap: Readonly<
    Record<string, { readonly type: string; readonly locations: readonly Range[] }>
  >;
  readonly s: Record<string, number>;
  readonly f: Record<string, number>;
  readonly b: Record<string, number[]>;
}

export interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

export interface Compiled {
  readonly text: string;
  /** The source map. Its paths of sources are the same as in the coverage data. */
  readonly map: ConstructorParameters<typeof TraceMap>[0];
}

/**
 * Adds the code that processes and threads ran in a bundle to the coverage of the bundle's sources.
 * Considers only the statements, functions and branches that have not run yet. For each of them,
 * looks up its start in the bundle and V8's count at that position.
 *
 * @returns The number of statements, functions and branches that are now covered.
 */
export function addScripts(
  files: readonly FileCoverage[],
  { text, map }: Compiled,
  scripts: Iterable<ScriptCoverage>,
): number {
  const trace = new TraceMap(map);
  const sources = new Set(trace.sources);
  const lines = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsetOf = (file: FileCoverage, { line, column }: Partial<Position>) => {
    if (line === undefined || column === undefined) return undefined;
    const found = generatedPositionFor(trace, {
      source: file.path,
      line,
      column,
      bias: GREATEST_LOWER_BOUND,
    });
    if (found.line === null) return undefined;
    const offset = (lines[found.line - 1] as number) + found.column;
    // esbuild maps the space before a statement to the statement, but V8 counts this space with the
    // code before it. Therefore, the space is skipped.
    return offset + text.slice(offset).search(/\S|$/);
  };
  const open: { readonly offset: number; readonly less?: number; readonly add: () => void }[] = [];
  for (const file of files) {
    if (!sources.has(file.path)) continue;
    for (const { start, unlike, add } of notRun(file)) {
      const offset = offsetOf(file, start);
      const less = unlike && offsetOf(file, unlike);
      if (offset === undefined || (unlike !== undefined && less === undefined)) continue;
      open.push({ offset, ...(less === undefined ? {} : { less }), add });
    }
  }
  const offsets = [...new Set(open.flatMap(({ offset, less = offset }) => [offset, less]))];
  offsets.sort((a, b) => a - b);
  const indexOf = new Map(offsets.map((offset, index) => [offset, index]));
  const run = new Set<(typeof open)[number]>();
  for (const script of scripts) {
    const counts = countsAt(offsets, script);
    const countAt = (offset: number) => counts[indexOf.get(offset) as number] as number;
    for (const place of open) {
      const { offset, less } = place;
      if (countAt(offset) > (less === undefined ? 0 : countAt(less))) run.add(place);
    }
  }
  for (const { add } of run) add();
  return run.size;
}

/**
 * A statement, function or branch that has not run yet. If `unlike` is given, it counts as run only
 * if the code at `start` ran more often than the code at `unlike`.
 */
interface NotRun {
  readonly start: Partial<Position>;
  readonly unlike?: Partial<Position> | undefined;
  readonly add: () => void;
}

function* notRun({ statementMap, fnMap, branchMap, s, f, b }: FileCoverage): Iterable<NotRun> {
  for (const [id, { start }] of Object.entries(statementMap))
    if (s[id] === 0)
      yield {
        start,
        add: () => {
          s[id] = 1;
        },
      };
  for (const [id, { loc }] of Object.entries(fnMap))
    if (f[id] === 0)
      yield {
        start: loc.start,
        add: () => {
          f[id] = 1;
        },
      };
  const statements = Object.values(statementMap).toSorted((x, y) => compare(x.start, y.start));
  for (const [id, { type, locations }] of Object.entries(branchMap)) {
    const counts = b[id] ?? [];
    for (const [index, { start }] of locations.entries()) {
      if (counts[index] !== 0) continue;
      const add = () => {
        counts[index] = 1;
      };
      if (type !== 'if') yield { start, add };
      else if (start.line === undefined || index === 0) {
        // For an `if`, Istanbul gives only the start of the `if`. The branch starts with the next
        // statement.
        const [whole] = locations as readonly [Range];
        const inside = statements.find(one => compare(one.start, whole.start) > 0)?.start;
        if (inside === undefined) continue;
        yield index === 0 ? { start: inside, add } : { start: whole.start, unlike: inside, add };
      } else yield { start, add };
    }
  }
}

const compare = (a: Partial<Position>, b: Partial<Position>) =>
  (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);

/** Returns the count of the innermost range around each offset. The offsets must be sorted. */
function countsAt(offsets: readonly number[], { functions }: ScriptCoverage): Float64Array {
  const counts = new Float64Array(offsets.length);
  const ranges = functions
    .flatMap(one => one.ranges)
    .toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges)
    counts.fill(count, firstFrom(offsets, startOffset), firstFrom(offsets, endOffset));
  return counts;
}

function firstFrom(offsets: readonly number[], limit: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Ran {
  readonly all: number;
  readonly run: number;
}

export interface Totals {
  readonly lines: Ran;
  readonly statements: Ran;
  readonly branches: Ran;
  readonly functions: Ran;
}

/**
 * Returns the totals of all files. A line counts as run if a statement that starts on it has run.
 */
export function totalsOf(files: readonly FileCoverage[]): Totals {
  const ranOf = (counts: readonly number[]): Ran => ({
    all: counts.length,
    run: counts.filter(count => count > 0).length,
  });
  const lines = files.flatMap(({ statementMap, s }) => {
    const byLine = new Map<number, number>();
    for (const [id, { start }] of Object.entries(statementMap))
      byLine.set(start.line ?? 0, Math.max(byLine.get(start.line ?? 0) ?? 0, s[id] ?? 0));
    return [...byLine.values()];
  });
  return {
    lines: ranOf(lines),
    statements: ranOf(files.flatMap(({ s }) => Object.values(s))),
    branches: ranOf(files.flatMap(({ b }) => Object.values(b).flat())),
    functions: ranOf(files.flatMap(({ f }) => Object.values(f))),
  };
}
