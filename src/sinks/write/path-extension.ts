/** A sink that writes files. */
export type FileSinkName = 'files' | 'csv' | 'parquet';

/** What each sink writes, and the extensions of paths that say so. */
const SINKS: Readonly<
  Record<FileSinkName, { readonly writes: string; readonly extensions: readonly string[] }>
> = {
  files: { writes: 'lines', extensions: ['jsonl', 'ndjson', 'json'] },
  csv: { writes: 'CSV', extensions: ['csv'] },
  parquet: { writes: 'Parquet', extensions: ['parquet'] },
};

/** What the end of a path says of its contents. */
export interface PathExtension {
  /** Without its dot and in lower case: `csv` of `posts.CSV.gz`. Absent if the name has none. */
  readonly extension: string | undefined;
  /** The sink that writes such files. */
  readonly sink: FileSinkName | undefined;
  /** `.gz` or `.zst`, if the name ends so. */
  readonly compression: string | undefined;
}

export function pathExtension(path: string): PathExtension {
  const [, name = path, compression] = /^(.*?)(\.gz|\.zst)?$/is.exec(path) ?? [];
  const extension = /\.([^./\\}]*)$/.exec(name)?.[1]?.toLowerCase();
  const sinks = Object.keys(SINKS) as FileSinkName[];
  const sink = sinks.find(sink => SINKS[sink].extensions.includes(extension ?? ''));
  return { extension, sink, compression };
}

/**
 * What is wrong with the extension of a path for a sink, as a message continues after the name of the option. An
 * extension of compression is ignored: `posts.csv.gz` is CSV.
 *
 * @param makesLines Whether a function of the caller makes the lines: these may be CSV or JSON, but never Parquet.
 */
export function extensionProblem(
  sink: string,
  path: string,
  makesLines = false,
): string | undefined {
  if (!isFileSinkName(sink)) return undefined;
  const { extension, sink: meant = sink } = pathExtension(path);
  if (meant === sink || (makesLines && meant !== 'parquet')) return undefined;
  return `must not end in .${extension}: ${sink}() writes ${SINKS[sink].writes}. Use ${meant}(), or another extension`;
}

function isFileSinkName(name: string): name is FileSinkName {
  return Object.hasOwn(SINKS, name);
}
